package provider

// model is the provider block. It is decoded only when all of it is known, so
// that plain Go types can hold it; an empty text is the same as none.
type model struct {
	Endpoint          *string  `tfsdk:"endpoint"`
	FallbackEndpoints []string `tfsdk:"fallback_endpoints"`

	Insecure       *bool   `tfsdk:"insecure"`
	CAFile         *string `tfsdk:"ca_file"`
	CAPEM          *string `tfsdk:"ca_pem"`
	TLSFingerprint *string `tfsdk:"tls_fingerprint"`

	TokenID         *string `tfsdk:"token_id"`
	TokenSecret     *string `tfsdk:"token_secret"`
	TokenSecretFile *string `tfsdk:"token_secret_file"`
	Token           *string `tfsdk:"token"`

	Username     *string `tfsdk:"username"`
	Password     *string `tfsdk:"password"`
	PasswordFile *string `tfsdk:"password_file"`

	Cluster    *string          `tfsdk:"cluster"`
	VMIDRange  *vmidRangeModel  `tfsdk:"vmid_range"`
	Defaults   *defaultsModel   `tfsdk:"defaults"`
	Limits     *limitsModel     `tfsdk:"limits"`
	Timeouts   *timeoutsModel   `tfsdk:"timeouts"`
	FenceScope *fenceScopeModel `tfsdk:"fence_scope"`
}

type vmidRangeModel struct {
	First int64 `tfsdk:"first"`
	Last  int64 `tfsdk:"last"`
}

type defaultsModel struct {
	Node    *string `tfsdk:"node"`
	Storage *string `tfsdk:"storage"`
	Bridge  *string `tfsdk:"bridge"`
	Pool    *string `tfsdk:"pool"`
}

type limitsModel struct {
	Requests        *int64 `tfsdk:"requests"`
	TasksPerNode    *int64 `tfsdk:"tasks_per_node"`
	TasksPerStorage *int64 `tfsdk:"tasks_per_storage"`
}

type timeoutsModel struct {
	Create *string `tfsdk:"create"`
	Read   *string `tfsdk:"read"`
	Update *string `tfsdk:"update"`
	Delete *string `tfsdk:"delete"`
}

type fenceScopeModel struct {
	VMIDs []int64  `tfsdk:"vmids"`
	Nodes []string `tfsdk:"nodes"`
}
