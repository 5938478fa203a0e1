package proxmox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// exercises do what each capability is for.
var exercises = map[string]func(context.Context, *subject) error{
	"cluster.identity": func(ctx context.Context, s *subject) error {
		_, err := s.Cluster.Identity(ctx)
		return err
	},
	"vm.create":     exerciseVM,
	"vm.cloud-init": exerciseCloudInit,
	"vm.cloud-init-regenerate": func(ctx context.Context, s *subject) error {
		if err := s.made(ctx, byhand.Params{"name": "seeded", "ide2": "shared-nfs:cloudinit"}); err != nil {
			return err
		}
		return s.write(ctx, http.MethodPut, s.guestPath("cloudinit"), nil)
	},
	"vm.hardware":      func(ctx context.Context, s *subject) error { return exerciseSetting(ctx, s, "vga", "serial0") },
	"vm.startup-order": func(ctx context.Context, s *subject) error { return exerciseSetting(ctx, s, "startup", "order=1") },
	"vm.addresses":     exerciseAddresses,
	"vm.migrate": func(ctx context.Context, s *subject) error {
		if _, err := s.VMs.Config(ctx, "pve1", s.bench.talking); err != nil {
			return err
		}
		_, err := s.VMs.CheckMigration(ctx, "pve1", s.bench.talking, "pve2")
		return err
	},
	"vm.cloud-init-status": exerciseFileRead,
	"id-ledger":            exerciseLedger,
	"container.create": func(ctx context.Context, s *subject) error {
		return s.nameLack(ctx, exerciseContainer(ctx, s), "container.create", s.scope)
	},
	"seed_iso":     exerciseSeed,
	"firewall":     exerciseFirewall,
	"firewall.log": func(ctx context.Context, s *subject) error { return exerciseGuestRead(ctx, s, "firewall", "log") },
	"firewall.node": func(ctx context.Context, s *subject) error {
		return exerciseRules(ctx, s, at("nodes", "pve1", "firewall", "rules"))
	},
	"firewall.cluster": func(ctx context.Context, s *subject) error {
		return exerciseRules(ctx, s, at("cluster", "firewall", "rules"))
	},
	"vm.stop":               exerciseStop,
	"vm.start":              func(ctx context.Context, s *subject) error { return exercisePower(ctx, s, "start") },
	"vm.link-down":          func(ctx context.Context, s *subject) error { return exerciseLink(ctx, s, "1") },
	"vm.link-up":            func(ctx context.Context, s *subject) error { return exerciseLink(ctx, s, "0") },
	"node.stop-guests":      exerciseStopGuests,
	"node.shutdown":         exerciseShutdown,
	"replication.lag":       exerciseReplication,
	"replication-jobs.list": exerciseReplication,
	"probe.agent-ping": func(ctx context.Context, s *subject) error {
		return s.write(ctx, http.MethodPost, vmPath("pve1", s.bench.talking, "agent", "ping"), nil)
	},
	"probe.service": exerciseExec,
	"vms.list":      exerciseList,
	"vm.nics": func(ctx context.Context, s *subject) error {
		_, err := s.VMs.Config(ctx, "pve1", s.bench.talking)
		return err
	},
}

// exerciseVM is the life of a proxmox_vm.
func exerciseVM(ctx context.Context, s *subject) error {
	if _, err := s.VMs.Config(ctx, "pve1", benchTemplate); err != nil {
		return err
	}
	created, err := s.CreateClone(ctx, CloneSpec{
		TemplateNode: "pve1", Template: benchTemplate, Name: "web", UID: NewUID(), VMID: s.vmid, Storage: "shared-nfs",
	})
	if err != nil {
		return err
	}
	guest := created.Guest
	if _, err := s.Grow(ctx, guest, created.Own, "scsi0", 4<<30, nil); err != nil {
		return err
	}
	for _, change := range []map[string]string{
		{"cores": "1"}, {"memory": "1024"}, {"net0": "virtio,bridge=vmbr0"}, {"tags": "web", "onboot": "0"},
	} {
		build := func(*GuestConfig) (ConfigUpdate, error) { return ConfigUpdate{Set: change}, nil }
		if _, err := s.Configure(ctx, guest, nil, build); err != nil {
			return err
		}
	}
	for _, want := range []PowerState{PowerRunning, PowerStopped} {
		if _, err := s.Power(ctx, guest, nil, want, PowerOptions{}); err != nil {
			return err
		}
	}
	_, err = s.Destroy(ctx, guest, DestroyOptions{})
	return err
}

func exerciseCloudInit(ctx context.Context, s *subject) error {
	if err := s.made(ctx, byhand.Params{"name": "bare"}); err != nil {
		return err
	}
	return s.write(ctx, http.MethodPut, s.guestPath("config"), url.Values{"ide2": {"shared-nfs:cloudinit"}, "ciuser": {"ops"}})
}

func exerciseSetting(ctx context.Context, s *subject, key, value string) error {
	if err := s.made(ctx, byhand.Params{"name": "set"}); err != nil {
		return err
	}
	return s.write(ctx, http.MethodPut, s.guestPath("config"), url.Values{key: {value}})
}

func exerciseAddresses(ctx context.Context, s *subject) error {
	_, err := s.VMs.AgentInterfaces(ctx, "pve1", s.bench.talking)
	return err
}

func exerciseFileRead(ctx context.Context, s *subject) error {
	path := vmPath("pve1", s.bench.talking, "agent", "file-read")
	return s.get(ctx, path, url.Values{"file": {benchFile}}, nil)
}

func exerciseExec(ctx context.Context, s *subject) error {
	path := vmPath("pve1", s.bench.talking, "agent", "exec")
	return s.write(ctx, http.MethodPost, path, url.Values{"command": {"/bin/true"}})
}

func exerciseLedger(ctx context.Context, s *subject) error {
	child := "terraform/id-" + strconv.Itoa(s.vmid)
	if err := s.Pools.Create(ctx, child, ""); err != nil {
		return err
	}
	pools, err := s.Pools.List(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(pools, func(p Pool) bool { return p.ID == child }) {
		return hidden(child, "Pool.Audit")
	}
	return s.Pools.Delete(ctx, child)
}

func exerciseContainer(ctx context.Context, s *subject) error {
	path := at("nodes", "pve1", "lxc")
	err := s.task(ctx, http.MethodPost, path, url.Values{
		"vmid": {strconv.Itoa(s.vmid)}, "ostemplate": {"local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"}, "hostname": {"web"},
		"rootfs": {"local-lvm:4"}, "net0": {"name=eth0,bridge=vmbr0,ip=dhcp"}, "cores": {"1"}, "memory": {"256"}, "tags": {"web"},
	})
	if err != nil {
		return err
	}
	one := path + "/" + strconv.Itoa(s.vmid)
	if err := s.read(ctx, one+"/config", nil); err != nil {
		return err
	}
	for _, change := range []url.Values{{"cores": {"2"}}, {"memory": {"512"}}, {"net0": {"name=eth0,bridge=vmbr0"}}, {"description": {"x"}}} {
		if err := s.write(ctx, http.MethodPut, one+"/config", change); err != nil {
			return err
		}
	}
	if err := s.task(ctx, http.MethodPut, one+"/resize", url.Values{"disk": {"rootfs"}, "size": {"5G"}}); err != nil {
		return err
	}
	for _, verb := range []string{"start", "stop"} {
		if err := s.task(ctx, http.MethodPost, one+"/status/"+verb, nil); err != nil {
			return err
		}
	}
	return s.task(ctx, http.MethodDelete, one, nil)
}

// task starts a task and waits for it.
func (s *subject) task(ctx context.Context, method, path string, params url.Values) error {
	upid, err := s.startTask(ctx, method, path, params)
	if err != nil {
		return err
	}
	_, err = s.Tasks.Wait(ctx, upid, WaitOptions{})
	return err
}

func exerciseFirewall(ctx context.Context, s *subject) error {
	if err := s.made(ctx, byhand.Params{"name": "walled"}); err != nil {
		return err
	}
	return exerciseRules(ctx, s, s.guestPath("firewall", "rules"))
}

func exerciseRules(ctx context.Context, s *subject, path string) error {
	if err := s.write(ctx, http.MethodPost, path, url.Values{"type": {"in"}, "action": {"ACCEPT"}}); err != nil {
		return err
	}
	return s.read(ctx, path, nil)
}

func exerciseGuestRead(ctx context.Context, s *subject, rest ...string) error {
	if err := s.made(ctx, byhand.Params{"name": "read"}); err != nil {
		return err
	}
	return s.read(ctx, s.guestPath(rest...), nil)
}

func exercisePower(ctx context.Context, s *subject, verb string) error {
	if err := s.made(ctx, byhand.Params{"name": "powered"}); err != nil {
		return err
	}
	if err := s.task(ctx, http.MethodPost, s.guestPath("status", verb), nil); err != nil {
		return err
	}
	_, err := s.VMs.Status(ctx, "pve1", s.vmid)
	return err
}

func exerciseStop(ctx context.Context, s *subject) error {
	if err := exercisePower(ctx, s, "stop"); err != nil {
		return err
	}
	return s.read(ctx, at("cluster", "ha", "resources"), nil)
}

func exerciseLink(ctx context.Context, s *subject, down string) error {
	if err := s.made(ctx, byhand.Params{"name": "linked", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}); err != nil {
		return err
	}
	if _, err := s.VMs.Config(ctx, "pve1", s.vmid); err != nil {
		return err
	}
	device := fmt.Sprintf("virtio=BC:24:11:00:00:01,bridge=vmbr0,link_down=%s", down)
	return s.write(ctx, http.MethodPut, s.guestPath("config"), url.Values{"net0": {device}})
}

func exerciseStopGuests(ctx context.Context, s *subject) error {
	if err := exercisePower(ctx, s, "stop"); err != nil {
		return err
	}
	_, err := s.Cluster.Status(ctx)
	return err
}

func exerciseShutdown(ctx context.Context, s *subject) error {
	if err := exerciseStopGuests(ctx, s); err != nil {
		return err
	}
	return s.write(ctx, http.MethodPost, at("nodes", s.scope["node"][0], "status"), url.Values{"command": {"shutdown"}})
}

func exerciseReplication(ctx context.Context, s *subject) error {
	if err := s.made(ctx, byhand.Params{"name": "replicated", "scsi0": "local-zfs:1"}); err != nil {
		return err
	}
	job := byhand.Params{"id": fmt.Sprintf("%d-0", s.vmid), "type": "local", "target": "pve2"}
	if err := s.bench.admin.Call(ctx, http.MethodPost, "/cluster/replication", job, nil); err != nil {
		return err
	}
	var jobs []struct {
		Guest Int `json:"guest"`
	}
	if err := s.get(ctx, at("nodes", "pve1", "replication"), url.Values{"guest": {strconv.Itoa(s.vmid)}}, &jobs); err != nil {
		return err
	}
	if len(jobs) == 0 {
		return hidden("its job", "VM.Audit")
	}
	return nil
}

func exerciseList(ctx context.Context, s *subject) error {
	guests, err := s.Cluster.Resources(ctx, "vm")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(guests, func(g Resource) bool { return g.VMID == s.bench.talking }) {
		return hidden("the VM", "VM.Audit")
	}
	return nil
}

func exerciseSeed(ctx context.Context, s *subject) error {
	if err := s.made(ctx, byhand.Params{"name": "seeded"}); err != nil {
		return err
	}
	content := []byte("seed")
	volume, err := s.Storage.Store(ctx, Upload{
		Node: "pve1", Storage: "seeds", Content: "iso", Name: fmt.Sprintf("%d.iso", s.vmid), Size: int64(len(content)),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(content)), Open: func() io.Reader { return bytes.NewReader(content) },
	})
	if err != nil {
		return err
	}
	drive := volume.VolID + ",media=cdrom"
	if err := s.write(ctx, http.MethodPut, s.guestPath("config"), url.Values{"ide2": {drive}}); err != nil {
		return err
	}
	return s.Storage.Delete(ctx, "pve1", volume.VolID)
}
