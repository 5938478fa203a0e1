package seeds

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// given is a configuration of user data alone.
func given(userData string) Model {
	m := NullModel(map[string]attr.Type{})
	m.Storage, m.UserData = types.StringValue("seeds"), types.StringValue(userData)
	return m
}

// placed is the state after a configuration was applied.
func placed(t *testing.T, config Model) Model {
	t.Helper()
	image, id, err := config.Image(Context{})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.SHA256()
	if err != nil {
		t.Fatal(err)
	}
	state := config
	state.UserDataWO = types.StringNull()
	if state.InstanceID.IsNull() {
		state.InstanceID = types.StringUnknown()
	}
	state.Settle(Name{"seeds", "uid", digest}, id, image.Size())
	return state
}

func TestDraft(t *testing.T) {
	t.Parallel()
	const script, other = "#!/bin/sh\n", "#!/bin/sh\ntrue\n"
	secret := func(content string, version int64) Model {
		m := given("")
		m.UserData, m.UserDataWO, m.UserDataWOVersion = types.StringNull(), types.StringValue(content), types.Int64Value(version)
		return m
	}
	named := func(m Model, id string) Model {
		m.InstanceID = types.StringValue(id)
		return m
	}
	unknown := given(script)
	unknown.UserData = types.StringUnknown()
	imported := placed(t, given(script))
	imported.UserData, imported.InstanceID = types.StringNull(), types.StringNull()
	silent := given("")
	silent.UserData = types.StringNull()

	const (
		same = iota
		fresh
	)
	for name, test := range map[string]struct {
		config, state          Model
		gone, moved, wasGiven  bool
		noContext, sameContext bool
		image                  int
		instance               string // "old", "unknown", or the id itself; "" is any other that is known.
	}{
		"nothing changed":          {config: given(script), state: placed(t, given(script)), sameContext: true, image: same, instance: "old"},
		"other user data":          {config: given(other), state: placed(t, given(script)), sameContext: true, image: fresh},
		"not known yet":            {config: unknown, state: placed(t, given(script)), sameContext: true, image: fresh, instance: "unknown"},
		"imported":                 {config: given(script), state: imported, sameContext: true, image: same},
		"imported, nothing said":   {config: silent, state: imported, image: same, instance: "old"},
		"nothing said of one made": {config: silent, state: placed(t, given(script)), image: fresh},
		"an empty one":             {config: silent, state: placed(t, silent), image: same},
		"gone":                     {config: given(script), state: placed(t, given(script)), gone: true, sameContext: true, image: fresh},
		"to another storage":       {config: given(script), state: placed(t, given(script)), moved: true, sameContext: true, image: fresh, instance: "old"},
		"an id of one's own":       {config: named(given(script), "mine"), state: placed(t, given(script)), sameContext: true, image: fresh, instance: "mine"},
		"an id that is kept":       {config: named(given(other), "mine"), state: placed(t, named(given(script), "mine")), wasGiven: true, sameContext: true, image: fresh, instance: "mine"},
		"an id that is given up":   {config: given(script), state: placed(t, named(given(script), "mine")), wasGiven: true, sameContext: true, image: fresh},
		"a context not known":      {config: given(script), state: placed(t, given(script)), noContext: true, image: fresh, instance: "unknown"},
		"the same in another way":  {config: given(script), state: placed(t, given(script)), image: same},
		"the same secret":          {config: secret(script, 1), state: placed(t, secret(script, 1)), sameContext: true, image: same, instance: "old"},
		"an unannounced secret":    {config: secret(other, 1), state: placed(t, secret(script, 1)), sameContext: true, image: same, instance: "old"},
		"a secret's next version":  {config: secret(other, 2), state: placed(t, secret(script, 1)), sameContext: true, image: fresh, instance: "unknown"},
		"a version, the same data": {config: secret(script, 2), state: placed(t, secret(script, 1)), sameContext: true, image: same},
	} {
		d := Draft{Config: test.config, State: test.state, There: !test.gone, Moved: test.moved, WasGiven: test.wasGiven, Context: &Context{}, SameContext: test.sameContext}
		if test.noContext {
			d.Context = nil
		}
		planned, err := d.Plan(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if stays := planned.VolumeID.Equal(test.state.VolumeID); stays != (test.image == same) || !stays && !planned.VolumeID.IsUnknown() {
			t.Errorf("%s: the image is %s", name, planned.VolumeID)
		}
		if planned.VolumeID.IsUnknown() != planned.SHA256.IsUnknown() || planned.VolumeID.IsUnknown() != planned.Size.IsUnknown() {
			t.Errorf("%s: digest %s and size %s do not go with the image", name, planned.SHA256, planned.Size)
		}
		if !planned.UserDataWO.IsNull() {
			t.Errorf("%s: the plan holds write-only data", name)
		}
		switch id := planned.InstanceID; test.instance {
		case "unknown":
			if !id.IsUnknown() {
				t.Errorf("%s: the instance id is %s", name, id)
			}
		case "old":
			if !id.Equal(test.state.InstanceID) {
				t.Errorf("%s: the instance id is %s, and was %s", name, id, test.state.InstanceID)
			}
		case "":
			if id.IsUnknown() || id.IsNull() {
				t.Errorf("%s: the instance id is %s", name, id)
			}
		default:
			if id.ValueString() != test.instance {
				t.Errorf("%s: the instance id is %s", name, id)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	const sum = "d6f30a588ce990f0dbffc04bae62059b401dabc676f329228c3c70d4a1b57c40"
	name := Name{"seeds", "3f0c1f0e-6a4e-4d7e-9a53-0f6c2b1d9a77", sum}
	if parsed, ok := ParseName(name.String()); !ok || parsed != name {
		t.Errorf("%s reads back as %v", name, parsed)
	}
	for _, volid := range []string{"", "seeds:iso/debian.iso", "seeds:iso/" + name.UID + "-" + sum[1:] + ".iso", name.String() + "x", "local-lvm:vm-100-disk-0"} {
		if _, ok := ParseName(volid); ok {
			t.Errorf("%q is a seed", volid)
		}
	}
}

func TestNetworkOfGuest(t *testing.T) {
	t.Parallel()
	address := types.ObjectType{AttrTypes: map[string]attr.Type{"address": types.StringType, "gateway": types.StringType, "method": types.StringType}}
	device := map[string]attr.Type{"ipv4": address, "ipv6": address}
	static := types.ObjectValueMust(address.AttrTypes, map[string]attr.Value{
		"address": types.StringValue("10.0.0.11/24"), "gateway": types.StringNull(), "method": types.StringNull(),
	})
	m := given("#!/bin/sh\n")
	m.Interfaces = types.MapValueMust(types.ObjectType{AttrTypes: device}, map[string]attr.Value{
		"net1": types.ObjectValueMust(device, map[string]attr.Value{"ipv4": static, "ipv6": types.ObjectNull(address.AttrTypes)}),
	})
	got, err := m.network(map[string]string{"net1": "BC:24:11:00:00:01"})
	const want = "version: 2\nethernets:\n    eth1:\n        match:\n            macaddress: bc:24:11:00:00:01\n        set-name: eth1\n" +
		"        dhcp4: false\n        dhcp6: false\n        addresses:\n            - 10.0.0.11/24\n"
	if err != nil || got != want {
		t.Errorf("the network is, %v:\n%s", err, got)
	}
	if _, err := m.network(map[string]string{"net0": "BC:24:11:00:00:01"}); err == nil {
		t.Error("a device that is not there has an address")
	}
}
