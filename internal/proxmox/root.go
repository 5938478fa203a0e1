package proxmox

// rootUser is the user for whom PVE checks no privileges.
const rootUser = "root@pam"

// IsRoot reports whether the client signs in as root@pam with a password. PVE
// reserves some settings to it, and refuses them even to a token of root.
func (c *Client) IsRoot() bool { return c.options.Username == rootUser }
