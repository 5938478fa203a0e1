package chaos

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
)

// stranger is a guest of somebody else, as it was made.
type stranger struct {
	byhand.Guest
	config map[string]string
	status string
	// tasks are those of its id that there were already: it may be one that was used
	// before.
	tasks map[string]bool
}

// makeStrangers makes guests by hand that have the names of ours, some of which run,
// one that is a copy of the template and one with a copied marker. The guests of the
// lab itself are strangers, too.
func (c *trial) makeStrangers() {
	ctx := context.Background()
	first := c.target.Foreign(0)
	copied := marker + "5f0c1f3e-6a7b-4c8d-9e0f-112233445566/" + strconv.Itoa(first)
	for vmid, params := range map[int]byhand.Params{
		first:     {"name": "chaos-0", "scsi0": "local-lvm:1"},
		first + 1: {"name": "theirs", "onboot": 1},
		first + 2: {"name": "chaos-1", "description": copied},
		fenced:    {"name": "chaos-0", "net0": "virtio,bridge=vmbr0"},
	} {
		acctest.Must(c.t, c.hand.CreateVM(ctx, "pve2", vmid, params))
		acctest.Must(c.t, c.hand.Power(ctx, vmid, "start"))
	}
	acctest.Must(c.t, c.hand.Clone(ctx, c.target.Template, first+3, "chaos-1", nil))
	acctest.Must(c.t, c.hand.Task(ctx, http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
		"vmid": first + 4, "hostname": hostname, "ostemplate": templates[0], "rootfs": "local-lvm:2",
	}))
	guests, err := c.hand.Guests(ctx)
	acctest.Must(c.t, err)
	for _, guest := range guests {
		c.addStranger(guest)
	}
}

// addStranger remembers a guest as it is now.
func (c *trial) addStranger(guest byhand.Guest) {
	if guest.VMID == fenced {
		return
	}
	tasks := map[string]bool{}
	for _, task := range c.tasks() {
		if task.ID == strconv.Itoa(guest.VMID) {
			tasks[task.UPID] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers[guest.VMID] = stranger{guest, c.readable(guest), c.status(guest), tasks}
}

func (c *trial) isStranger(vmid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.strangers[vmid]
	return is || vmid == fenced
}

// config reads a guest's configuration, nil where it has none.
func (c *trial) config(guest byhand.Guest) map[string]string {
	var raw map[string]any
	path := fmt.Sprintf("/nodes/%s/%s/%d/config", guest.Node, guest.Type, guest.VMID)
	if err := c.hand.Call(context.Background(), http.MethodGet, path, nil, &raw); err != nil {
		return nil
	}
	config := map[string]string{}
	for key, value := range raw {
		config[key] = fmt.Sprint(value)
	}
	return config
}

// readable is the configuration of a guest that is there: its node may be lost just
// now.
func (c *trial) readable(guest byhand.Guest) map[string]string {
	for range 100 {
		if config := c.config(guest); config != nil {
			return config
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("%s %d cannot be read", guest.Type, guest.VMID)
	return nil
}

func (c *trial) status(guest byhand.Guest) string {
	var status struct {
		Status string `json:"status"`
	}
	path := fmt.Sprintf("/nodes/%s/%s/%d/status/current", guest.Node, guest.Type, guest.VMID)
	if err := c.hand.Call(context.Background(), http.MethodGet, path, nil, &status); err != nil {
		return err.Error()
	}
	return status.Status
}

// task is a line of a node's list of tasks.
type task struct {
	UPID string `json:"upid"`
	Type string `json:"type"`
	ID   string `json:"id"`
	User string `json:"user"`
	// Token is the name of the user's token, where one began the task.
	Token string `json:"tokenid"`
}

func (c *trial) tasks() []task {
	var all []task
	for _, node := range nodes {
		var tasks []task
		err := c.hand.Call(context.Background(), http.MethodGet, "/nodes/"+node+"/tasks", byhand.Params{"limit": 100000, "source": "all"}, &tasks)
		acctest.Must(c.t, err)
		all = append(all, tasks...)
	}
	return all
}

// checkStrangers wants each guest of others to be as it was made, to the digest, in
// the same state of power, and with no task that the provider has begun. Only the
// templates may be cloned.
func (c *trial) checkStrangers(when string) {
	c.t.Helper()
	tasks := c.tasks()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.strangers {
		if config := c.config(s.Guest); !maps.Equal(config, s.config) {
			c.t.Errorf("%s: %s %d of others was %v and is %v", when, s.Type, s.VMID, s.config, config)
		}
		if status := c.status(s.Guest); status != s.status {
			c.t.Errorf("%s: %s %d of others was %s and is %s", when, s.Type, s.VMID, s.status, status)
		}
		for _, task := range tasks {
			if task.ID != strconv.Itoa(s.VMID) || s.tasks[task.UPID] || !c.isProviders(task) || task.Type == "qmclone" && s.Template == 1 {
				continue
			}
			c.t.Errorf("%s: the provider has begun %s", when, task.UPID)
		}
	}
	config := c.config(byhand.Guest{VMID: fenced, Type: "qemu", Node: "pve2"})
	if config["net0"] == "" || config["name"] != "chaos-0" || strings.Contains(config["description"], marker) {
		c.t.Errorf("%s: the VM that is fenced has become %v", when, config)
	}
}

// isProviders reports whether the provider's token has begun a task.
func (c *trial) isProviders(task task) bool {
	return strings.Contains(task.UPID, ":"+c.target.TokenID+":") || task.User+"!"+task.Token == c.target.TokenID
}
