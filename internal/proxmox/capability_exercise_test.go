package proxmox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// exercises do what each capability is for, with the calls by which the
// provider does it.
var exercises = map[string]func(context.Context, *subject) error{
	"cluster.identity": func(ctx context.Context, s *subject) error {
		_, err := s.Cluster.Identity(ctx)
		return err
	},
	"vm.create": exerciseVM,
	"vm.cloud-init": exerciseSettings(map[string]string{
		"ide2": "shared-nfs:cloudinit", "ciuser": "ops",
	}),
	"vm.cloud-init-regenerate": exerciseRegenerate,
	"vm.cdrom":                 exerciseCDROM,
	"vm.hardware":              exerciseSettings(map[string]string{"vga": "serial0", "serial0": "socket", "rng0": "source=/dev/urandom"}),
	"vm.usb":                   exerciseSettings(map[string]string{"usb0": "mapping=dongle"}),
	"vm.pci":                   exerciseSettings(map[string]string{"hostpci0": "mapping=gpu"}),
	"vm.virtiofs":              exerciseSettings(map[string]string{"virtiofs0": "share"}),
	"vm.hwrng":                 exerciseSettings(map[string]string{"rng0": "source=/dev/hwrng"}),
	"vm.startup-order":         exerciseSettings(map[string]string{"startup": "order=1"}),
	"vm.migrate":               exerciseMigrate,
	"vm.addresses":             exerciseAddresses,
	"vm.cloud-init-status":     exerciseCloudInitStatus,
	"id-ledger":                exerciseLedger,
	"container.create":         exerciseContainer(false),
	"container.privileged":     exerciseContainer(true),
	"container.migrate":        exerciseContainerMigrate,
	"seed_iso":                 exerciseSeed,

	"firewall":          exerciseGuestFirewall,
	"firewall.log":      exerciseFirewallLog,
	"firewall.node-log": exerciseNodeLog,
	"firewall.node": func(ctx context.Context, s *subject) error {
		return exerciseFirewall(ctx, s, FirewallScope{Kind: FirewallNode, Node: "pve1"})
	},
	"firewall.cluster": exerciseClusterFirewall,

	"vm.stop":          exerciseStop,
	"vm.start":         exerciseStart,
	"vm.link-down":     exerciseLinkDown,
	"vm.link-up":       exerciseLinkUp,
	"node.stop-guests": exerciseFenceNode(FenceStopGuests),
	"node.shutdown":    exerciseFenceNode(FenceShutdown),

	"replication.lag":       exerciseReplication,
	"replication-jobs.list": exerciseReplication,
	"probe.agent-ping":      exercisePing,
	"probe.service":         exerciseService,
	"node.status":           exerciseNodeStatus,
	"storage.status":        exerciseStorageStatus,
	"vms.list":              exerciseList,
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
		if err := s.configure(ctx, guest, change); err != nil {
			return err
		}
	}
	for _, want := range []PowerState{PowerRunning, PowerPaused, PowerRunning, PowerStopped} {
		if _, err := s.Power(ctx, guest, nil, want, PowerOptions{}); err != nil {
			return err
		}
	}
	if _, err := s.Move(ctx, guest, nil, "scsi0", "shared-nfs", "raw", nil); err != nil {
		return err
	}
	_, err = s.Destroy(ctx, guest, DestroyOptions{})
	return err
}

// exerciseSettings changes a VM of ours.
func exerciseSettings(settings map[string]string) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		guest, err := s.made(ctx, nil)
		if err != nil {
			return err
		}
		return s.configure(ctx, guest, settings)
	}
}

func exerciseRegenerate(ctx context.Context, s *subject) error {
	guest, err := s.made(ctx, byhand.Params{"ide2": "shared-nfs:cloudinit"})
	if err != nil {
		return err
	}
	return s.RegenerateCloudInit(ctx, guest, nil)
}

func exerciseCDROM(ctx context.Context, s *subject) error {
	volume := fmt.Sprintf("seeds:iso/tools-%d.iso", s.vmid)
	if err := s.bench.admin.UploadImage(ctx, "pve1", volume, []byte("image")); err != nil {
		return err
	}
	return exerciseSettings(map[string]string{"ide2": volume + ",media=cdrom"})(ctx, s)
}

func exerciseMigrate(ctx context.Context, s *subject) error {
	guest, err := s.made(ctx, byhand.Params{"scsi0": "shared-nfs:1"})
	if err != nil {
		return err
	}
	if _, err := s.VMs.CheckMigration(ctx, "pve1", guest.VMID, "pve2"); err != nil {
		return err
	}
	_, err = s.Migrate(ctx, guest, nil, "pve2", PowerOptions{})
	return err
}

func exerciseContainerMigrate(ctx context.Context, s *subject) error {
	guest := Guest{Kind: KindContainer, Node: "pve1", VMID: s.vmid, UID: NewUID()}
	if err := s.bench.admin.Task(ctx, http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
		"vmid": s.vmid, "pool": "terraform", "ostemplate": oldTemplate, "rootfs": "shared-nfs:1", "description": Marker{UID: guest.UID, VMID: guest.VMID}.String(),
	}); err != nil {
		return err
	}
	_, err := s.Migrate(ctx, guest, nil, "pve2", PowerOptions{})
	return err
}

func exerciseAddresses(ctx context.Context, s *subject) error {
	if _, err := s.VMs.Pending(ctx, "pve1", s.bench.talking); err != nil {
		return err
	}
	_, err := s.VMs.AgentInterfaces(ctx, "pve1", s.bench.talking)
	return err
}

func exerciseCloudInitStatus(ctx context.Context, s *subject) error {
	if _, err := s.VMs.Pending(ctx, "pve1", s.bench.talking); err != nil {
		return err
	}
	_, err := s.VMs.CloudInitDone(ctx, "pve1", s.bench.talking)
	return err
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

// exerciseContainer is the life of a proxmox_container. Its rights come from the
// pool: PVE forgets what was granted on a guest itself when the guest is
// destroyed, which a reinstallation begins with.
func exerciseContainer(privileged bool) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		spec := ContainerSpec{
			Node: "pve1", Template: oldTemplate, Name: "db", UID: NewUID(), Source: "old", VMID: s.vmid, Privileged: privileged, Pool: "terraform",
			Settings: map[string]string{
				"rootfs": "local-lvm:4", "mp0": "local-lvm:1,mp=/data", "net0": "name=eth0,bridge=vmbr0,ip=dhcp",
				"cores": "1", "memory": "256", "tags": "db",
			},
		}
		created, err := s.CreateContainer(ctx, spec)
		if err != nil {
			return err
		}
		guest := created.Guest
		for _, change := range []map[string]string{{"cores": "2"}, {"memory": "512"}, {"net0": "name=eth0,bridge=vmbr0"}, {"onboot": "1"}} {
			if err := s.configure(ctx, guest, change); err != nil {
				return err
			}
		}
		if _, err := s.Grow(ctx, guest, nil, "rootfs", 5<<30, nil); err != nil {
			return err
		}
		if _, err := s.Complete(ctx, guest, nil); err != nil {
			return err
		}
		if _, err := s.Power(ctx, guest, nil, PowerRunning, PowerOptions{}); err != nil {
			return err
		}
		delete(spec.Settings, "mp0")
		spec.Template, spec.Source = newTemplate, "new"
		done, err := s.Reinstall(ctx, ReinstallSpec{Guest: guest, Keep: []string{"mp0"}, Power: PowerOptions{ForceStop: true}, New: spec})
		if err != nil {
			return err
		}
		_, err = s.Destroy(ctx, done.Guest, DestroyOptions{ForceStop: true})
		return err
	}
}

// exerciseSeed uploads a seed, has a VM use it, takes it out and deletes it.
func exerciseSeed(ctx context.Context, s *subject) error {
	content := []byte("seed")
	volume, err := s.Storage.Store(ctx, Upload{
		Node: "pve1", Storage: "seeds", Content: "iso", Name: fmt.Sprintf("%d.iso", s.vmid), Size: int64(len(content)),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(content)), Open: func() io.Reader { return bytes.NewReader(content) },
	})
	if err != nil {
		return err
	}
	if err := exerciseSettings(map[string]string{"ide2": volume.VolID + ",media=cdrom"})(ctx, s); err != nil {
		return err
	}
	users, err := s.Storage.VolumeUsers(ctx, "pve1", false, volume.VolID)
	if err != nil {
		return err
	}
	for _, user := range users {
		if err := s.Eject(ctx, user, volume.VolID); err != nil {
			return err
		}
	}
	return s.Storage.Delete(ctx, "pve1", volume.VolID)
}

func exerciseReplication(ctx context.Context, s *subject) error {
	if _, err := s.made(ctx, byhand.Params{"scsi0": "local-zfs:1"}); err != nil {
		return err
	}
	id := fmt.Sprintf("%d-0", s.vmid)
	job := byhand.Params{"id": id, "type": "local", "target": "pve2"}
	if err := s.bench.admin.Call(ctx, http.MethodPost, "/cluster/replication", job, nil); err != nil {
		return err
	}
	found, listed, err := s.Replication.Job(ctx, id)
	if err != nil {
		return err
	}
	if !listed {
		return hidden("its job", "VM.Audit")
	}
	_, err = s.Replication.Now(ctx, found.Source)
	return err
}

func exerciseNodeStatus(ctx context.Context, s *subject) error {
	if _, err := s.Nodes.Status(ctx, "pve1"); err != nil {
		return err
	}
	_, err := s.Nodes.Time(ctx, "pve1")
	return err
}

func exerciseStorageStatus(ctx context.Context, s *subject) error {
	if _, err := s.Storage.Status(ctx, "pve1", "shared-nfs"); err != nil {
		return err
	}
	_, err := s.Storage.Content(ctx, "pve1", "shared-nfs", "images")
	return err
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
