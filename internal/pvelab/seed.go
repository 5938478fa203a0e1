package pvelab

import "fmt"

const (
	gib = 1 << 30

	// seedPool is the pool that the least-privilege token may make guests in.
	seedPool = "terraform"
	// templateDisk is the size of a template's boot disk.
	templateDisk = 3 * gib
)

// seed furnishes the default lab: storages and a second bridge on every node, an
// image or two, VM templates, a pool, and tokens with all, just enough and no
// rights.
func (l *Lab) seed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seedStorages()
	for _, n := range l.nodes {
		n.addBridge("vmbr1")
	}
	if err := l.seedFiles(); err != nil {
		return err
	}
	if !l.opts.NoTemplates {
		if err := l.seedTemplates(); err != nil {
			return err
		}
	}
	l.pools[seedPool] = &pool{id: seedPool, vms: map[int]bool{}, storages: map[string]bool{}}
	l.seedTokens()
	return nil
}

func (l *Lab) seedStorages() {
	l.addStorage("local", "dir", 100*gib, map[string]string{
		"path": "/var/lib/vz", "content": "iso,vztmpl,backup,snippets,import",
	})
	l.addStorage("local-lvm", "lvmthin", 400*gib, map[string]string{
		"vgname": "pve", "thinpool": "data", "content": "images,rootdir",
	})
	l.addStorage("local-zfs", "zfspool", 400*gib, map[string]string{"pool": "rpool/data", "content": "images,rootdir"})
	l.addStorage("shared-nfs", "nfs", 2000*gib, map[string]string{
		"server": "10.99.0.250", "export": "/export/pve", "path": "/mnt/pve/shared-nfs", "content": "images,rootdir,iso",
	})
	l.addStorage("seeds", "dir", 100*gib, map[string]string{"path": "/var/lib/seeds", "content": "iso"})
}

// seedFiles puts an installer, a cloud image and two versions of a container template on local.
func (l *Lab) seedFiles() error {
	local := l.storages["local"]
	for _, n := range l.opts.Nodes {
		for name, size := range map[string]int64{
			"iso/debian-13.1.0-amd64-netinst.iso":            783 << 20,
			"vztmpl/debian-13-standard_13.1-1_amd64.tar.zst": 123 << 20,
			"vztmpl/debian-13-standard_13.1-2_amd64.tar.zst": 124 << 20,
			"import/debian-13-genericcloud-amd64.qcow2":      414 << 20,
		} {
			v, err := local.addFile(n, name, size)
			if err != nil {
				return err
			}
			if v.content == "import" {
				v.virtual = templateDisk
			}
		}
	}
	return nil
}

// seedTemplate is a VM template of the default lab.
type seedTemplate struct {
	vmid          int
	name, storage string
	// boot is the slot of the boot disk.
	boot string
}

// seedTemplates makes 9000, which all nodes can clone since its disks are shared,
// and 9001 with its disks on the first node alone.
func (l *Lab) seedTemplates() error {
	for _, t := range []seedTemplate{
		{vmid: 9000, name: "debian-13", storage: "shared-nfs", boot: "scsi0"},
		{vmid: 9001, name: "debian-13-virtio", storage: "local-lvm", boot: "virtio0"},
	} {
		if err := l.seedTemplate(t); err != nil {
			return fmt.Errorf("template %d: %w", t.vmid, err)
		}
	}
	return nil
}

func (l *Lab) seedTemplate(t seedTemplate) error {
	node := l.opts.Nodes[0]
	s, err := l.storage(node, t.storage)
	if err != nil {
		return err
	}
	image, err := s.alloc(node, t.vmid, "raw", "", templateDisk)
	if err != nil {
		return err
	}
	disk, err := l.makeBase(node, image.volid)
	if err != nil {
		return err
	}
	drive, err := s.alloc(node, t.vmid, s.cloudInitFormat(), s.cloudInitName(t.vmid), cloudInitDiskSize)
	if err != nil {
		return err
	}
	g := newGuest("qemu", t.vmid, node)
	g.conf = guestConfig{
		"name": t.name, "template": "1", "memory": "2048", "cores": "2", "cpu": "x86-64-v2-AES", "ostype": "l26",
		"scsihw": "virtio-scsi-single", "boot": "order=" + t.boot, "agent": "enabled=1", "serial0": "socket", "vga": "serial0",
		t.boot:    disk.volid + ",size=3G",
		"ide2":    drive.volid + ",media=cdrom,size=4M",
		"net0":    fmt.Sprintf("virtio=BC:24:11:00:%02X:%02X,bridge=vmbr0", t.vmid/100, t.vmid%100),
		"meta":    fmt.Sprintf("creation-qemu=10.0.13,ctime=%d", l.clock.Now().Unix()),
		"smbios1": "uuid=" + newUUID(),
		"vmgenid": newUUID(),
	}
	l.guests[t.vmid] = g
	return nil
}

// cloudInitFormat is the format of a cloud-init drive: PVE prefers qcow2 where
// the storage has it.
func (s *storage) cloudInitFormat() string {
	if s.path == "" {
		return "raw"
	}
	return "qcow2"
}

// cloudInitName is how PVE names a cloud-init drive: with the format's ending on
// a directory.
func (s *storage) cloudInitName(vmid int) string {
	name := fmt.Sprintf("vm-%d-cloudinit", vmid)
	if s.path != "" {
		name += "." + s.cloudInitFormat()
	}
	return name
}

// seedTokens makes the tokens of the default lab. The least one holds its rights
// through the pool, as a careful administrator gives them.
func (l *Lab) seedTokens() {
	const owner = "terraform@pve"
	l.access.users[owner] = &user{id: owner, enabled: true, tokens: map[string]*token{}}
	l.seedToken("full", rootUser, false)
	l.seedToken("least", owner, true)
	l.seedToken("nothing", owner, true)
	for name, privs := range l.leastRoles() {
		r := &role{privs: map[string]bool{}}
		for _, p := range privs {
			r.privs[p] = true
		}
		l.access.roles[name] = r
	}
	for _, g := range leastGrants {
		for kind, id := range map[string]string{"user": owner, "token": l.secrets["least"].id} {
			l.access.acl = append(l.access.acl, aclEntry{
				path: g.path, kind: kind, id: id, role: g.role, propagate: g.propagate,
			})
		}
	}
}

func (l *Lab) seedToken(name, owner string, privsep bool) {
	secret := newUUID()
	l.access.users[owner].tokens[name] = &token{secret: secret, privsep: privsep}
	l.secrets[name] = tokenSecret{id: owner + "!" + name, secret: secret}
}

// leastRoles are the roles that the least-privilege token needs.
func (l *Lab) leastRoles() map[string][]string {
	agent := split("VM.GuestAgent.Audit VM.GuestAgent.FileRead")
	if l.is8() {
		agent = split("VM.Monitor")
	}
	guests := split("VM.Allocate VM.Audit VM.Clone VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk " +
		"VM.Config.HWType VM.Config.Memory VM.Config.Network VM.Config.Options VM.PowerMgmt Pool.Allocate Pool.Audit")
	return map[string][]string{
		"TerraformGuests":    append(guests, agent...),
		"TerraformSeeds":     split("Datastore.Allocate Datastore.AllocateTemplate Datastore.Audit"),
		"TerraformTemplates": split("Datastore.Audit"),
		"TerraformView":      split("Sys.Audit"),
	}
}

var leastGrants = []struct {
	path, role string
	propagate  bool
}{
	{"/", "TerraformView", false},
	{"/nodes", "TerraformView", true},
	{"/pool/" + seedPool, "TerraformGuests", true},
	{"/vms/9000", "PVETemplateUser", false},
	{"/vms/9001", "PVETemplateUser", false},
	{"/storage/local", "TerraformTemplates", false},
	{"/storage/local-lvm", "PVEDatastoreUser", false},
	{"/storage/shared-nfs", "PVEDatastoreUser", false},
	{"/storage/seeds", "TerraformSeeds", false},
	{"/sdn/zones/localnetwork", "PVESDNUser", true},
}
