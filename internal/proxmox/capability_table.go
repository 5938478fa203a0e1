package proxmox

import "slices"

// The paths of PVE's access control that the table speaks of.
const (
	rootPath     = "/"
	guestsPath   = "/vms"
	guestPath    = "/vms/{vmid}"
	templatePath = "/vms/{template}"
	poolPath     = "/pool/{pool}"
	bridgePath   = "/sdn/zones/localnetwork/{bridge}"
	nodePath     = "/nodes/{node}"
	imagesPath   = "/storage/{images}"
	rootdirPath  = "/storage/{rootdir}"
	vztmplPath   = "/storage/{vztmpl}"
	isoPath      = "/storage/{iso}"
	storagePath  = "/storage/{storage}"
	usbPath      = "/mapping/usb/{usb}"
	pciPath      = "/mapping/pci/{pci}"
	dirPath      = "/mapping/dir/{dir}"
	rngPath      = "/mapping/hwrng"
)

// Needs that several capabilities share.
var (
	needAudit      = Need{Path: guestPath, Privilege: "VM.Audit", Why: "read the guest and the marker that tells whose it is"}
	needAllocate   = Need{Path: guestPath, Privilege: "VM.Allocate", Why: "make and destroy guests"}
	needPower      = Need{Path: guestPath, Privilege: "VM.PowerMgmt", Why: "start and stop guests"}
	needOptions    = Need{Path: guestPath, Privilege: "VM.Config.Options", Why: "write name, marker, tags and options"}
	needCPU        = Need{Path: guestPath, Privilege: "VM.Config.CPU", Only: "cpu", Why: "set cores and CPU type"}
	needMemory     = Need{Path: guestPath, Privilege: "VM.Config.Memory", Only: "memory", Why: "set the memory"}
	needDisks      = Need{Path: guestPath, Privilege: "VM.Config.Disk", Only: "disks", Why: "grow and change disks"}
	needNetwork    = Need{Path: guestPath, Privilege: "VM.Config.Network", Only: "network", Why: "set network devices"}
	needBridge     = Need{Path: bridgePath, Privilege: "SDN.Use", Only: "network", Why: "attach a guest to the bridge"}
	needCluster    = Need{Path: rootPath, Privilege: "Sys.Audit", Why: "see the cluster's members and which node answers"}
	needHA         = Need{Path: rootPath, Privilege: "Sys.Audit", Why: "see whether the HA manager would start the guest again"}
	needAgent      = Need{Path: guestPath, Privilege: "VM.GuestAgent.Audit", Privilege8: "VM.Monitor", Instead: "VM.GuestAgent.Unrestricted", Why: "ask the guest's agent"}
	needLinkBridge = Need{Path: bridgePath, Privilege: "SDN.Use", Why: "write a device that is attached to the bridge"}
	needList       = Need{Path: guestPath, Privilege: "VM.Audit", Why: "have the guest in PVE's lists"}
	needSight      = Need{Path: guestsPath, Privilege: "VM.Audit", Why: "see every guest of the node, so that none is overlooked"}
	needShutdown   = Need{Path: nodePath, Privilege: "Sys.PowerMgmt", Why: "shut the node down"}
	needHardware   = Need{Path: guestPath, Privilege: "VM.Config.HWType", Why: "set the hardware"}
	needCDROM      = Need{Path: guestPath, Privilege: "VM.Config.CDROM", Why: "attach the image to the VM"}
	needPrivileged = Need{Path: rootPath, Privilege: "Sys.Modify", Why: "make a privileged container, whose root is the node's root"}
	needLink       = Need{Path: guestPath, Privilege: "VM.Config.Network", Why: "change the device's link"}
)

// needMapping is what a device of a resource mapping takes. The mappings are
// the cluster's, and so is the right to use them.
func needMapping(path string) Need {
	return Need{Path: path, Privilege: "Mapping.Use", Why: "give the guest a device of the mapping"}
}

// containerNeeds are what a container takes.
var containerNeeds = []Need{
	{Path: vztmplPath, Privilege: "Datastore.Audit", Instead: "Datastore.AllocateSpace", Why: "unpack a container template from the storage"},
	needAllocate, needAudit, needOptions, needPower, needCPU, needMemory,
	{Path: guestPath, Privilege: "VM.Config.Disk", Why: "make the root volume and mount points"},
	{Path: guestPath, Privilege: "VM.Config.Network", Why: "set a container's host name, network devices and resolver"},
	{Path: rootdirPath, Privilege: "Datastore.AllocateSpace", Why: "make volumes on the storage"},
	needBridge,
}

var capabilities = []Capability{
	{
		Name: "cluster.identity", Doc: "Tell which cluster answers: `cluster` in the provider block, and `proxmox_connection`",
		Needs: []Need{needCluster},
	},
	{
		Name: "vm.create", Doc: "Make, change, start, stop and destroy VMs: `proxmox_vm`",
		Needs: []Need{
			{Path: templatePath, Privilege: "VM.Clone", Why: "clone the template"},
			{Path: templatePath, Privilege: "VM.Audit", Why: "read the template"},
			needAllocate, needAudit, needOptions, needPower, needCPU, needMemory, needDisks, needNetwork,
			{Path: imagesPath, Privilege: "Datastore.AllocateSpace", Why: "make disks on the storage"},
			needBridge,
		},
	},
	{
		Name: "vm.cloud-init", Doc: "Add a cloud-init drive to a VM whose template has none",
		Needs: []Need{
			{Path: guestPath, Privilege: "VM.Config.Cloudinit", Only: "cloud_init", Why: "add the cloud-init drive"},
			{Path: guestPath, Privilege: "VM.Config.CDROM", Only: "cloud_init", Why: "add the cloud-init drive"},
			needAudit,
		},
	},
	{
		Name: "vm.cloud-init-regenerate", Doc: "Make the image in a running VM's cloud-init drive anew when `cloud_init` changes",
		Needs: []Need{{Path: guestPath, Privilege: "VM.Config.Cloudinit", Only: "cloud_init", Why: "regenerate the cloud-init drive"}, needAudit},
	},
	{
		Name: "vm.cdrom", Doc: "Put an ISO image into a VM's drive",
		Needs: []Need{needCDROM, {Path: isoPath, Privilege: "Datastore.Audit", Instead: "Datastore.AllocateSpace", Why: "use the image"}, needAudit},
	},
	{
		Name: "vm.hardware", Doc: "Set a VM's hardware: machine, display, controllers, serial ports, random numbers",
		Needs: []Need{needHardware, needAudit},
	},
	{
		Name: "vm.usb", Doc: "Give a VM a USB device by its resource mapping",
		Needs: []Need{needHardware, needMapping(usbPath), needAudit},
	},
	{
		Name: "vm.pci", Doc: "Give a VM a PCI device by its resource mapping",
		Needs: []Need{needHardware, needMapping(pciPath), needAudit},
	},
	{
		Name: "vm.virtiofs", Doc: "Share a node's directory with a VM by its resource mapping",
		Needs: []Need{
			{Path: guestPath, Privilege: "VM.Config.Disk", Why: "share a directory with the guest"},
			needMapping(dirPath), needAudit,
		},
	},
	{
		Name: "vm.hwrng", Doc: "Feed a VM's random numbers from the node's hardware: `rng.source = \"/dev/hwrng\"`",
		Needs: []Need{needHardware, {Path: rngPath, Privilege: "Mapping.Use", Why: "use the node's source of random numbers"}, needAudit},
	},
	{
		Name: "vm.startup-order", Doc: "Set when a VM starts among the others of its node",
		Needs: []Need{
			{Path: guestPath, Privilege: "VM.Config.Options", Why: "set the order"},
			{Path: rootPath, Privilege: "Sys.Modify", Why: "change how the node starts its guests"},
			needAudit,
		},
	},
	{
		Name: "vm.migrate", Doc: "Migrate a VM to another node, where `node` changes",
		Needs: []Need{{Path: guestPath, Privilege: "VM.Migrate", Why: "migrate the guest to another node"}, needAudit},
	},
	{
		Name: "vm.addresses", Doc: "Read a VM's addresses from its agent, and wait for the agent",
		Needs: []Need{needAgent, needAudit},
	},
	{
		Name: "vm.cloud-init-status", Doc: "Wait until cloud-init has finished in a VM",
		Needs: []Need{{
			Path: guestPath, Privilege: "VM.GuestAgent.FileRead", Privilege8: "VM.Monitor", Instead: "VM.GuestAgent.Unrestricted",
			Why: "read cloud-init's result through the agent",
		}, needAudit},
	},
	{
		Name: "id-ledger", Doc: "Keep ids from being used again, in the pool of `defaults.pool`",
		Needs: []Need{
			{Path: poolPath, Privilege: "Pool.Allocate", Why: "reserve ids as pools within the pool"},
			{Path: poolPath, Privilege: "Pool.Audit", Why: "see the ids that are reserved"},
		},
	},
	{
		Name: "container.create", Doc: "Make, change, start, stop, reinstall and destroy containers: `proxmox_container`",
		Needs: containerNeeds,
	},
	{
		Name: "container.privileged", Doc: "Make containers that are not unprivileged",
		Needs: append(slices.Clone(containerNeeds), needPrivileged),
	},
	{
		Name: "container.migrate", Doc: "Migrate a container to another node, where `node` changes",
		Needs: []Need{{Path: guestPath, Privilege: "VM.Migrate", Why: "migrate the guest to another node"}, needAudit},
	},
	{
		Name: "seed_iso", Doc: "Upload NoCloud seeds, attach them and delete them",
		Needs: []Need{
			{Path: isoPath, Privilege: "Datastore.AllocateTemplate", Why: "upload ISO images"},
			{Path: isoPath, Privilege: "Datastore.Audit", Why: "verify the uploaded image"},
			{Path: isoPath, Privilege: "Datastore.Allocate", Why: "delete ISO images; Datastore.AllocateSpace is not enough for it"},
			needCDROM, needAudit,
		},
	},
	{
		Name: "firewall", Doc: "Set a guest's firewall options and rules",
		Needs: []Need{
			{Path: guestPath, Privilege: "VM.Config.Network", Why: "write the guest's firewall"},
			{Path: guestPath, Privilege: "VM.Audit", Why: "read the guest's firewall"},
		},
	},
	{
		Name: "firewall.log", Doc: "Read a guest's firewall log",
		Needs: []Need{{Path: guestPath, Privilege: "VM.Console", Why: "read the guest's firewall log"}, needList},
	},
	{
		Name: "firewall.node-log", Doc: "Read a node's firewall log",
		Needs: []Need{{Path: nodePath, Privilege: "Sys.Syslog", Why: "read the node's firewall log"}},
	},
	{
		Name: "firewall.node", Doc: "Set a node's firewall options and rules",
		Needs: []Need{
			{Path: nodePath, Privilege: "Sys.Modify", Why: "write the node's firewall"},
			{Path: nodePath, Privilege: "Sys.Audit", Why: "read the node's firewall"},
		},
	},
	{
		Name: "firewall.cluster", Doc: "Set the cluster's firewall: options, rules, IP sets, aliases and groups",
		Needs: []Need{
			{Path: rootPath, Privilege: "Sys.Modify", Why: "write the cluster's firewall"},
			{Path: rootPath, Privilege: "Sys.Audit", Why: "read the cluster's firewall"},
		},
	},
	{
		Name: "vm.stop", Doc: "Stop a VM, and tell whether it stays stopped",
		Needs: []Need{needPower, needAudit, needHA},
	},
	{
		Name: "vm.start", Doc: "Start a VM",
		Needs: []Need{needPower, needAudit},
	},
	{
		Name: "vm.link-down", Doc: "Take a VM's network link down",
		Needs: []Need{needLink, needAudit, needLinkBridge},
	},
	{
		Name: "vm.link-up", Doc: "Bring a VM's network link up again",
		Needs: []Need{needLink, needAudit, needLinkBridge},
	},
	{
		Name: "node.stop-guests", Doc: "Stop all guests of a node",
		Needs: []Need{needPower, needSight, needCluster},
	},
	{
		Name: "node.shutdown", Doc: "Stop all guests of a node and shut it down",
		Needs: []Need{
			needPower, needSight, needCluster, needShutdown,
		},
	},
	{
		Name: "replication.lag", Doc: "Read how far a guest's replica lags behind",
		Needs: []Need{{Path: guestPath, Privilege: "VM.Audit", Why: "read the guest's replication jobs"}},
	},
	{
		Name: "replication-jobs.list", Doc: "List replication jobs",
		Needs: []Need{{Path: guestPath, Privilege: "VM.Audit", Why: "read the guest's replication jobs"}},
	},
	{
		Name: "probe.agent-ping", Doc: "Ask whether a VM's agent answers",
		Needs: []Need{needAgent, needAudit},
	},
	{
		Name: "probe.service", Doc: "Ask a VM's agent for the state of a service",
		Needs: []Need{{
			Path: guestPath, Privilege: "VM.GuestAgent.Unrestricted", Privilege8: "VM.Monitor", Why: "run a command in the guest through its agent",
		}, needAudit},
	},
	{
		Name: "node.status", Doc: "Read a node's status and clock: `proxmox_node`",
		Needs: []Need{{Path: nodePath, Privilege: "Sys.Audit", Why: "read the node's status and clock"}},
	},
	{
		Name: "storage.status", Doc: "Read a storage's capacity and contents: `proxmox_storage`",
		Needs: []Need{{Path: storagePath, Privilege: "Datastore.Audit", Why: "see the storage and what is on it"}},
	},
	{
		Name: "vms.list", Doc: "List guests",
		Needs: []Need{needList},
	},
	{
		Name: "vm.nics", Doc: "Read a VM's network devices",
		Needs: []Need{needAudit},
	},
}
