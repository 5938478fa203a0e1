package pvelab

import "strings"

// privilegeGroup is how PVE sorts the privileges of one category: what only root,
// an administrator, a user, an auditor holds. The built-in roles follow from it.
type privilegeGroup struct{ root, admin, user, audit []string }

// privilegeGroups are those of pve-access-control; PVE 8 has VM.Monitor where 9
// has the VM.GuestAgent ones, and no VM.Replicate.
func privilegeGroups(version string) map[string]privilegeGroup {
	groups := map[string]privilegeGroup{
		"VM": {
			admin: split("VM.Config.Disk VM.Config.CPU VM.Config.Memory VM.Config.Network VM.Config.HWType " +
				"VM.Config.Options VM.Allocate VM.Clone VM.GuestAgent.Unrestricted VM.Migrate VM.Replicate " +
				"VM.Snapshot VM.Snapshot.Rollback"),
			user: split("VM.Config.CDROM VM.Config.Cloudinit VM.Console VM.Backup VM.GuestAgent.FileRead " +
				"VM.GuestAgent.FileSystemMgmt VM.GuestAgent.FileWrite VM.PowerMgmt"),
			audit: split("VM.Audit VM.GuestAgent.Audit"),
		},
		"Sys": {
			root:  split("Sys.PowerMgmt Sys.Modify Sys.Incoming Sys.AccessNetwork"),
			admin: split("Sys.Console Sys.Syslog"),
			audit: split("Sys.Audit"),
		},
		"Datastore": {
			admin: split("Datastore.Allocate Datastore.AllocateTemplate"),
			user:  split("Datastore.AllocateSpace"),
			audit: split("Datastore.Audit"),
		},
		"SDN":     {admin: split("SDN.Allocate SDN.Audit"), user: split("SDN.Use"), audit: split("SDN.Audit")},
		"User":    {root: split("Realm.Allocate"), admin: split("User.Modify Group.Allocate Realm.AllocateUser")},
		"Pool":    {admin: split("Pool.Allocate"), user: split("Pool.Audit"), audit: split("Pool.Audit")},
		"Mapping": {admin: split("Mapping.Modify"), user: split("Mapping.Use"), audit: split("Mapping.Audit")},
	}
	if version == "8.4" {
		groups["VM"] = privilegeGroup{
			admin: split("VM.Config.Disk VM.Config.CPU VM.Config.Memory VM.Config.Network VM.Config.HWType " +
				"VM.Config.Options VM.Allocate VM.Clone VM.Migrate VM.Monitor VM.Snapshot VM.Snapshot.Rollback"),
			user:  split("VM.Config.CDROM VM.Config.Cloudinit VM.Console VM.Backup VM.PowerMgmt"),
			audit: split("VM.Audit"),
		}
	}
	return groups
}

func split(s string) []string { return strings.Fields(s) }

// builtinRoles derives the special roles from the privilege groups.
func builtinRoles(version string) map[string]*role {
	roles := map[string]*role{}
	grant := func(name string, privs ...[]string) {
		r := roles[name]
		if r == nil {
			r = &role{privs: map[string]bool{}, special: true}
			roles[name] = r
		}
		for _, list := range privs {
			for _, p := range list {
				r.privs[p] = true
			}
		}
	}
	grant("NoAccess")
	grant("Administrator", []string{"Permissions.Modify"})
	for category, g := range privilegeGroups(version) {
		grant("Administrator", g.root, g.admin, g.user, g.audit)
		grant("PVE"+category+"Admin", g.admin, g.user, g.audit)
		grant("PVEAdmin", g.admin, g.user, g.audit)
		grant("PVEAuditor", g.audit)
		if len(g.user) > 0 {
			grant("PVE"+category+"User", g.user, g.audit)
		}
	}
	delete(roles["PVEAdmin"].privs, "Mapping.Modify")
	grant("PVETemplateUser", split("VM.Clone VM.Audit"))
	return roles
}
