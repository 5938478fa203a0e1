package vm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// row is something to hold, with the tests that do.
type row struct {
	what  string
	tests []string
}

// rivals are what other providers did on a real Proxmox VE, to a stranger's VM
// and to their own, and what their users complain of most: with the tests that
// hold that this one does not.
var rivals = []row{
	{"id taken by a stranger, clone", []string{"TestAccVM_vmidTaken"}},
	{"id taken, create without clone: there is none here", []string{"TestAccVM_vmidTaken", "TestAccVM_refusedAtPlan"}},
	{"own VM deleted by hand, a stranger takes the id", []string{"TestAccVM_takenOver", "TestAccVM_takenOverUpdate"}},
	{"one 596 or 500 on the clone poll", []string{"TestAccVM_faultsSurvived"}},
	{"the answer to the clone call lost", []string{"TestAccVM_faultsSurvived"}},
	{"provider killed mid-clone", []string{"TestAccVM_killClone", "TestAccVM_killProvider", "TestAccVM_killedInCreate"}},
	{"disk added by hand", []string{"TestAccVM_unknownDisks"}},
	{"minimal clone", []string{"TestAccVM_inherit"}},
	{"agent on, no address", []string{"TestAccVM_silentAgent"}},
	{"cores and memory of a running VM", []string{"TestAccVM_changedWhileRunning"}},
	{"static address edited", []string{"TestAccVM_changedWhileRunning", "TestCloudInitOfARunningVM"}},
	{"bad token", []string{"TestAccVM_badToken", "TestAccVM_noRights"}},
	{"destroy within 10 s of a start", []string{"TestAccVM_destroyedAfterStart"}},

	{"1 recycled id: wrong VM changed", []string{"TestAccVM_takenOver", "TestAccVM_takenOverUpdate", "TestAccVM_idsAreNotReused"}},
	{"2 existing VM overwritten", []string{"TestAccVM_vmidTaken", "TestAccVM_sameName", "TestAccVM_copyOfMarker"}},
	{"3 parallel ids race", []string{"TestAccVM_fifty", "TestAccVM_twenty", "TestAccVM_twoApplies", "TestAccVM_idsOfTwoProcesses"}},
	{"4 time-out or interruption loses a VM", []string{"TestAccVM_interruptClone", "TestAccVM_interruptWait", "TestAccVM_killedInCreate", "TestAccVM_nodeLostMidTask"}},
	{"5 lock time-outs", []string{"TestAccVM_faultsSurvived", "TestAccVM_fifty"}},
	{"6 waiting for the agent", []string{"TestAccVM_silentAgent", "TestAccVM_cloudInit"}},
	{"7 slow refresh", []string{"TestAccVM_refreshBudget", "TestAccVM_silentAgent"}},
	{"8 addresses churn", []string{"TestAccVM_silentAgent", "TestAddresses"}},
	{"9 disks reordered or replaced", []string{"TestAccVM_changedWhileRunning", "TestAccVM_disksWhileRunning"}},
	{"10 disk not removed, blank disk", []string{"TestAccVM_disksWhileRunning", "TestAccVM_shrink", "TestAccVM_refusedAtPlan"}},
	{"11 growth reverted by what waits, or restarts", []string{"TestGrowthOutlivesWhatWaits", "TestDisksOfARunningVM"}},
	{"12 change of tags restarts", []string{"TestAccVM_changedWhileRunning", "TestUpdateSendsChangedKeysOnly"}},
	{"13 edit of cloud-init replaces", []string{"TestAccVM_changedWhileRunning", "TestCloudInitOfARunningVM"}},
	{"14 cloud-init password masked, drifts", []string{"TestAccVM_secrets"}},
	{"15 clone drops the template's fields", []string{"TestAccVM_inherit", "TestCloneSpecInheritsTheDescription"}},
	{"16 import replaces or restarts, or imports nothing", []string{"TestAccVM_import", "TestAccVM_importRefused", "TestAccVM_adopt", "TestAccVM_generatedConfiguration"}},
	{"17 template on another node or storage", []string{"TestAccVM_templateElsewhere"}},
	{"18 migration or HA makes it anew", []string{"TestAccVM_movedAllowed"}},
	{"19 absent from a list read as deleted", []string{"TestAccVM_unreadable", "TestAccVM_nodeAwayAtRefresh", "TestAccVM_poolOnly"}},
	{"24 destroy hangs, stops what is protected, erases disks", []string{"TestAccVM_hardStop", "TestAccVM_unknownDisks", "TestAccVM_managed"}},
}

// promises are what the resource does, each with its tests: an acceptance test
// unless the protocol or a table can tell more.
var promises = []row{
	{"every setting that a token may set", []string{"TestEveryKeyOfPVE", "TestHardware", "TestSince", "TestAccVM_settings", "TestProperty"}},
	{"what is root's is refused in the plan, by name", []string{"TestRootsKeys", "TestRootOnly", "TestAccVM_rootOnly"}},
	{"inherited, removed", []string{"TestAccVM_inherit", "TestAccVM_removed", "TestPlanner", "TestGuide"}},
	{"power: running, stopped, paused; shutdown, then stop", []string{"TestAccVM_power", "TestAccVM_hardStop"}},
	{"destroyed with what is known, and nothing that HA or replication need", []string{"TestAccVM_unknownDisks", "TestPendingOnlyDisks", "TestAccVM_managed"}},
	{"disks and NICs added, grown, attached, detached, moved while it runs", []string{"TestAccVM_disksWhileRunning", "TestDisksOfARunningVM", "TestAttach"}},
	{"boot disk, cloud-init drive and first NIC stay; nothing shrinks", []string{"TestWhatAVMKeeps", "TestAccVM_shrink"}},
	{"a refused change is reverted", []string{"TestRefusedChangeIsTakenBack"}},
	{"what waits is named, or restarts the VM as planned", []string{"TestAccVM_changedWhileRunning", "TestDraftAnnouncesRestarts"}},
	{"cloud-init in place, its password in no state", []string{"TestCloudInitOfARunningVM", "TestUpgradeOnNodesThatDoNotKnowIt", "TestAccVM_secrets"}},
	{"installing until cloud-init is done; failures in the guest's words", []string{"TestAccVM_cloudInit", "TestAccVM_interruptWait", "TestJobEnds"}},
	{"addresses by MAC, the last known ones while the agent is silent", []string{"TestAccVM_silentAgent", "TestAddresses"}},
	{"placement", []string{"TestAccVM_movedAllowed", "TestAccVM_templateElsewhere"}},
	{"ids", []string{"TestAccVM_idsAreNotReused", "TestAccVM_idsOfTwoProcesses", "TestAccVM_twoApplies", "TestAccVM_fifty"}},
	{"import, adoption, generated configuration", []string{"TestAccVM_import", "TestAccVM_adopt", "TestAccVM_restoreMarker", "TestAccVM_generatedConfiguration"}},
	{"killed after every single call", []string{"TestAccVM_killedInCreate", "TestAccVM_killedInUpdate", "TestAccVM_killedInDelete", "TestAccVM_lastCall"}},
	{"states of earlier releases, moved blocks", []string{"TestStateOfAnEarlierRelease", "TestAccVM_movedBlock"}},
	{"PVE 8", []string{"TestAccVM_on84", "TestSince", "TestHardware", "TestProperty"}},
}

// TestEveryRowIsHeld: each row has its tests, here or at the base of all guests.
func TestEveryRowIsHeld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	base, err := filepath.Glob(filepath.Join("..", "..", "framework", "guests", "*_test.go"))
	must(t, err)
	tests := map[string]bool{}
	for _, name := range append(files, base...) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok {
				tests[function.Name.Name] = true
			}
		}
	}
	for _, each := range append(slices.Clone(promises), rivals...) {
		for _, name := range each.tests {
			if !tests[name] {
				t.Errorf("%s: there is no %s", each.what, name)
			}
		}
	}
}
