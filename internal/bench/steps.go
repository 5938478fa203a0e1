package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
)

// each does work n times, as many at once as Terraform would.
func each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	next := make(chan int)
	for range parallelism {
		group.Go(func() {
			for i := range next {
				err := work(ctx, i)
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return failed
}

// create makes the VMs: the whole way with some of them, the rest is only cloned.
func (b *bench) create(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	b.guests = make([]proxmox.Guest, b.number)
	make1 := func(ctx context.Context, i int) error {
		created, err := client.CreateClone(ctx, proxmox.CloneSpec{
			TemplateNode: "pve1", Template: 9000, Storage: "shared-nfs", Name: fmt.Sprintf("bench-%d", i), UID: proxmox.NewUID(),
		})
		b.guests[i] = created.Guest
		if err != nil {
			return err
		}
		if _, err := client.Grow(ctx, created.Guest, created.Own, "scsi0", 5<<30, nil); err != nil {
			return err
		}
		build := func(*proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
			return proxmox.ConfigUpdate{Set: map[string]string{"cores": "2"}}, nil
		}
		if _, err := client.Configure(ctx, created.Guest, nil, build); err != nil {
			return err
		}
		_, err = client.Complete(ctx, created.Guest, nil)
		return err
	}
	n := min(b.number, most)
	ours, err := b.cost(ctx, n, make1)
	if err != nil {
		return err
	}
	bare := b.bare()
	floor, err := b.cost(ctx, n, func(ctx context.Context, i int) error {
		vmid := 30000 + i
		return errors.Join(
			bare.task(ctx, "POST", "/nodes/pve1/qemu/9000/clone", url.Values{"newid": {fmt.Sprint(vmid)}, "full": {"1"}, "storage": {"shared-nfs"}}),
			bare.task(ctx, "PUT", fmt.Sprintf("/nodes/pve1/qemu/%d/resize", vmid), url.Values{"disk": {"scsi0"}, "size": {"5G"}}),
			bare.call(ctx, "PUT", fmt.Sprintf("/nodes/pve1/qemu/%d/config", vmid), url.Values{"cores": {"2"}}, nil),
		)
	})
	if err != nil {
		return err
	}
	tell("create", n, ours, floor)
	return each(ctx, b.number-n, func(ctx context.Context, i int) error { return make1(ctx, i+n) })
}

// refresh reads all VMs, as a plan that changes nothing does.
func (b *bench) refresh(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	ours, err := b.cost(ctx, b.number, func(ctx context.Context, i int) error {
		look, err := client.Inspect(ctx, b.guests[i])
		if err == nil && look.Standing != proxmox.Ours {
			err = look.Err(b.guests[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	bare := b.bare()
	floor, err := b.cost(ctx, b.number, func(ctx context.Context, i int) error {
		return bare.call(ctx, "GET", fmt.Sprintf("/nodes/%s/qemu/%d/pending", b.guests[i].Node, b.guests[i].VMID), nil, nil)
	})
	if err != nil {
		return err
	}
	tell("refresh", b.number, ours, floor)
	return nil
}

// destroy destroys the VMs that were made the whole way, by both.
func (b *bench) destroy(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	n := min(b.number, most)
	ours, err := b.cost(ctx, n, func(ctx context.Context, i int) error {
		_, err := client.Destroy(ctx, b.guests[i], proxmox.DestroyOptions{})
		return err
	})
	if err != nil {
		return err
	}
	bare := b.bare()
	floor, err := b.cost(ctx, n, func(ctx context.Context, i int) error {
		return bare.task(ctx, "DELETE", fmt.Sprintf("/nodes/pve1/qemu/%d", 30000+i), nil)
	})
	if err != nil {
		return err
	}
	tell("destroy", n, ours, floor)
	return nil
}

// bare makes calls and nothing else.
type bare struct {
	endpoint, token string
	http            *http.Client
}

func (b *bench) bare() *bare {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.lab.CAPEM())
	id, secret := b.lab.Token("full")
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		MaxIdleConnsPerHost: parallelism,
	}
	return &bare{endpoint: b.lab.URL(), token: id + "=" + secret, http: &http.Client{Transport: transport}}
}

func (b *bare) call(ctx context.Context, method, path string, form url.Values, data any) error {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, b.endpoint+"/api2/json"+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "PVEAPIToken="+b.token)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return json.Unmarshal(raw, &struct {
		Data any `json:"data"`
	}{Data: data})
}

// task makes a call and waits for its task, asking as often as the client does
// at first.
func (b *bare) task(ctx context.Context, method, path string, form url.Values) error {
	var upid string
	if err := b.call(ctx, method, path, form, &upid); err != nil {
		return err
	}
	for {
		var status struct {
			Status     string `json:"status"`
			ExitStatus string `json:"exitstatus"`
		}
		node := strings.Split(upid, ":")[1]
		if err := b.call(ctx, "GET", "/nodes/"+node+"/tasks/"+upid+"/status", nil, &status); err != nil {
			return err
		}
		if status.Status == "stopped" && status.ExitStatus != "OK" {
			return fmt.Errorf("%s %s: %s", method, path, status.ExitStatus)
		}
		if status.Status == "stopped" {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}
