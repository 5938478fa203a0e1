#!/bin/sh
# Prepares a Proxmox VE node for the Terraform provider: a pool, roles with just
# the privileges that are needed, a storage for cloud-init seeds, a user with an
# API token, a certificate with all names of the node, and a template.
#
# Run it on the node, as root. It may be run again at any time: what is as it
# should be is left alone, and every change is printed.
#
#   bootstrap-proxmox-host.sh [--dry-run] [--env] STEP...
#
# Steps: role, seed, token, cert, template; all is these five; uninstall removes
# what they made, and says what else it leaves alone. What is made carries a mark
# in its comment; roles and storages have none and are listed in
# /etc/pve/priv/terraform-bootstrap/made. --dry-run prints the changes and makes
# none. --env writes the token to ./proxmox.env instead of ./proxmox.auto.tfvars.
#
# Settings, from the environment:
#   POOL=terraform                  holds the guests and reserved ids
#   VMID_RANGE=20000-20999          the ids of the guests
#   STORAGES="local-lvm"            storages for disks, the first is the default
#   BRIDGE=vmbr0
#   SEED_STORAGE=terraform-seeds    SEED_PATH=/var/lib/terraform-seeds
#   PVE_USER=terraform@pve          TOKEN=provider
#   FORCE_TOKEN=true                issues the token anew
#   ROLE_PREFIX=Terraform           of the roles Guests, Seeds and View
#   EXTRA_SAN_DNS="pve.example.com" further names for the certificate
#   FORCE_CERT=true                 replaces a certificate of others, such as ACME's
#   ENDPOINT=https://<fqdn>:8006    written to the file with the token
#   TEMPLATE_VMID=9000              TEMPLATE_NAME=debian-13
#   IMAGE_URL=https://…             with a SHA512SUMS file beside it
#   IMAGE=                          a file or volume to use instead of IMAGE_URL
#   NODE=<host name>                PVE_DIR=/etc/pve
set -eu

POOL=${POOL:-terraform}
VMID_RANGE=${VMID_RANGE:-20000-20999}
STORAGES=${STORAGES:-local-lvm}
BRIDGE=${BRIDGE:-vmbr0}
SEED_STORAGE=${SEED_STORAGE:-terraform-seeds}
SEED_PATH=${SEED_PATH:-/var/lib/terraform-seeds}
PVE_USER=${PVE_USER:-terraform@pve}
TOKEN=${TOKEN:-provider}
FORCE_TOKEN=${FORCE_TOKEN:-false}
EXTRA_SAN_DNS=${EXTRA_SAN_DNS:-}
FORCE_CERT=${FORCE_CERT:-false}
TEMPLATE_VMID=${TEMPLATE_VMID:-9000}
TEMPLATE_NAME=${TEMPLATE_NAME:-debian-13}
IMAGE_URL=${IMAGE_URL:-https://cloud.debian.org/images/cloud/trixie/latest/debian-13-genericcloud-amd64.qcow2}
IMAGE=${IMAGE:-}
NODE=${NODE:-$(hostname -s)}
PVE_DIR=${PVE_DIR:-/etc/pve}

ROLE_PREFIX=${ROLE_PREFIX:-Terraform}
GUEST_ROLE=${ROLE_PREFIX}Guests
SEED_ROLE=${ROLE_PREFIX}Seeds
VIEW_ROLE=${ROLE_PREFIX}View
TOKEN_ID="$PVE_USER!$TOKEN"
STORAGE=${STORAGES%% *}
# MARK tells what this script made, so that it removes nothing else.
MARK=terraform-bootstrap
RECORDS=$PVE_DIR/priv/$MARK
# CERT is the node's own certificate; its key lies beside it.
CERT=$PVE_DIR/nodes/$NODE/pveproxy-ssl

# Privileges on the pool and so on its guests. The agent's are called otherwise
# before Proxmox VE 9.
GUEST_PRIVS="Pool.Allocate Pool.Audit VM.Allocate VM.Audit VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit
VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network VM.Config.Options VM.PowerMgmt"
AGENT_PRIVS_9="VM.GuestAgent.Audit"
AGENT_PRIVS_8="VM.Monitor"
SEED_PRIVS="Datastore.Allocate Datastore.AllocateTemplate Datastore.Audit"
VIEW_PRIVS="Sys.Audit"

dry_run=
output=tfvars
work=

say() { printf '%s\n' "$*"; }

die() {
	printf 'bootstrap-proxmox-host: %s\n' "$*" >&2
	exit 1
}

# change prints a command and runs it.
change() {
	say "+ $*"
	[ -n "$dry_run" ] || "$@"
}

# make_work makes a folder for what is needed for a moment only.
make_work() {
	[ -z "$work" ] || return 0
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
}

get() { pvesh get "$@" --output-format json 2>/dev/null; }

exists() { get "$@" >/dev/null; }

# guest_privs adds the privileges whose names depend on the version.
guest_privs() {
	case $(pveversion) in
	pve-manager/8.*) say "$GUEST_PRIVS $AGENT_PRIVS_8" ;;
	pve-manager/9.*) say "$GUEST_PRIVS $AGENT_PRIVS_9" ;;
	*) die "this is not Proxmox VE 8 or 9: $(pveversion)" ;;
	esac | tr '\n' ' '
}

# note WHAT NAME notes that this script made what has no comment to be marked.
note() {
	[ -z "$dry_run" ] || return 0
	mkdir -p "$RECORDS"
	noted "$@" || say "$*" >>"$RECORDS/made"
}

noted() { [ -f "$RECORDS/made" ] && grep -qxF "$*" "$RECORDS/made"; }

# forget WHAT NAME takes back a note: another one of that name is not this
# script's.
forget() {
	[ -z "$dry_run" ] || return 0
	grep -vxF "$*" "$RECORDS/made" >"$RECORDS/made.new" || true
	mv "$RECORDS/made.new" "$RECORDS/made"
}

leave() { say "$* is left alone: this script did not make it"; }

# words prints its input as sorted words, one a line.
words() { tr -s '[:space:]' '[\n*]' | sed '/^$/d' | sort; }

# ensure_role NAME PRIVS
ensure_role() {
	wanted=$(printf '%s' "$2" | words)
	if ! held=$(get "/access/roles/$1"); then
		change pveum role add "$1" --privs "$(printf '%s' "$wanted" | tr '\n' ' ')"
		note role "$1"
		return
	fi
	held=$(printf '%s' "$held" | tr -d '{}" ' | tr ',' '\n' | sed 's/:.*//' | words)
	[ "$held" != "$wanted" ] || return 0
	noted role "$1" || die "the role $1 is there, holds other privileges, and is not of this script: choose another ROLE_PREFIX"
	change pveum role modify "$1" --privs "$(printf '%s' "$wanted" | tr '\n' ' ')"
}

# granted KIND ID PATH ROLE PROPAGATE
granted() {
	get /access/acl | tr -d ' \n' | tr '{' '\n' |
		grep -F "\"path\":\"$3\"" | grep -F "\"roleid\":\"$4\"" | grep -F "\"ugid\":\"$2\"" |
		grep -F "\"type\":\"$1\"" | grep -qE "\"propagate\":\"?$5"
}

# ensure_acl PATH ROLE PROPAGATE grants a role to the user and to the token: a
# token with privilege separation holds what both hold.
ensure_acl() {
	granted user "$PVE_USER" "$1" "$2" "$3" ||
		change pveum acl modify "$1" --users "$PVE_USER" --roles "$2" --propagate "$3"
	granted token "$TOKEN_ID" "$1" "$2" "$3" ||
		change pveum acl modify "$1" --tokens "$TOKEN_ID" --roles "$2" --propagate "$3"
}

step_role() {
	ensure_role "$GUEST_ROLE" "$(guest_privs)"
	ensure_role "$SEED_ROLE" "$SEED_PRIVS"
	ensure_role "$VIEW_ROLE" "$VIEW_PRIVS"
	exists /pools --poolid "$POOL" || change pveum pool add "$POOL" --comment "Guests and reserved guest ids of Terraform ($MARK)"
}

# A storage of its own for seeds: to delete an ISO image takes
# Datastore.Allocate, which on any other storage allows to delete backups,
# templates and disks as well.
step_seed() {
	exists "/storage/$SEED_STORAGE" && return
	change pvesm add dir "$SEED_STORAGE" --path "$SEED_PATH" --content iso
	note storage "$SEED_STORAGE"
}

step_token() {
	for role in "$GUEST_ROLE" "$SEED_ROLE" "$VIEW_ROLE"; do
		[ -n "$dry_run" ] || exists "/access/roles/$role" || die "there is no role $role yet: run the step role first"
	done
	exists "/access/users/$PVE_USER" || change pveum user add "$PVE_USER" --comment "Terraform provider ($MARK)"
	issue_token
	ensure_acl "/pool/$POOL" "$GUEST_ROLE" 1
	ensure_acl "/vms/$TEMPLATE_VMID" PVETemplateUser 0
	for storage in $STORAGES; do
		ensure_acl "/storage/$storage" PVEDatastoreUser 0
	done
	ensure_acl "/storage/$SEED_STORAGE" "$SEED_ROLE" 0
	ensure_acl "/sdn/zones/localnetwork/$BRIDGE" PVESDNUser 1
	# Which cluster it is, and the nodes' clocks and versions.
	ensure_acl / "$VIEW_ROLE" 0
	ensure_acl /nodes "$VIEW_ROLE" 1
}

# The secret of a token is shown once: a token that is there is left alone.
issue_token() {
	file=proxmox.auto.tfvars
	[ "$output" = tfvars ] || file=proxmox.env
	if token=$(get "/access/users/$PVE_USER/token/$TOKEN"); then
		if [ "$FORCE_TOKEN" != true ]; then
			say "the token $TOKEN_ID is there; its secret cannot be read again (FORCE_TOKEN=true issues it anew)"
			return
		fi
		case $token in
		*"$MARK"*) ;;
		*) die "the token $TOKEN_ID is not of this script and stays: choose another TOKEN, or remove it by hand" ;;
		esac
	fi
	[ ! -e "$file" ] || written "$file" || die "./$file is not of this script and stays: move it away, or work in another folder"
	if [ -n "$token" ]; then
		change pveum user token remove "$PVE_USER" "$TOKEN"
	fi
	say "+ pveum user token add $PVE_USER $TOKEN --privsep 1"
	[ -z "$dry_run" ] || return 0
	answer=$(pveum user token add "$PVE_USER" "$TOKEN" --privsep 1 --comment "$MARK" --output-format json)
	secret=$(printf '%s' "$answer" | tr -d '\n' | sed -n 's/.*"value" *: *"\([0-9a-fA-F-]*\)".*/\1/p')
	[ -n "$secret" ] || die "pveum did not tell the token's secret"
	write_credentials "$secret"
}

# written FILE reports whether this script wrote a file.
written() { head -n 1 "$1" | grep -qF "$MARK"; }

# write_credentials SECRET writes $file.
write_credentials() {
	endpoint=${ENDPOINT:-https://$(hostname -f):8006}
	first=${VMID_RANGE%-*}
	last=${VMID_RANGE#*-}
	say "+ write ./$file"
	rm -f "$file"
	(
		umask 077
		if [ "$output" = env ]; then
			cat >"$file" <<EOF
# Written by bootstrap-proxmox-host.sh ($MARK).
export PROXMOX_ENDPOINT='$endpoint'
export PROXMOX_TOKEN_ID='$TOKEN_ID'
export PROXMOX_TOKEN_SECRET='$1'
export PROXMOX_CA_FILE='proxmox-ca.pem'
export PROXMOX_NODE='$NODE'
export PROXMOX_STORAGE='$STORAGE'
export PROXMOX_BRIDGE='$BRIDGE'
export PROXMOX_POOL='$POOL'
export PROXMOX_VMID_RANGE='$first-$last'
export PROXMOX_TEMPLATE_VMID='$TEMPLATE_VMID'
EOF
		else
			cat >"$file" <<EOF
# Written by bootstrap-proxmox-host.sh ($MARK).
proxmox = {
  endpoint     = "$endpoint"
  token_id     = "$TOKEN_ID"
  token_secret = "$1"
  ca_file      = "proxmox-ca.pem"
  vmid_range   = { first = $first, last = $last }
  defaults     = { node = "$NODE", storage = "$STORAGE", bridge = "$BRIDGE", pool = "$POOL" }
  template     = $TEMPLATE_VMID
  seed_storage = "$SEED_STORAGE"
}
EOF
		fi
	)
}

# names lists what clients may call the node.
names() {
	{
		hostname -s
		hostname -f
		printf '%s\n' "$EXTRA_SAN_DNS" | tr ',' ' '
	} | words | uniq
}

addresses() { hostname -I 2>/dev/null | words | uniq; }

# covered reports whether the node's own certificate is good for all names, and
# for a month.
covered() {
	[ -f "$CERT.pem" ] && openssl x509 -in "$CERT.pem" -noout -checkend 2592000 >/dev/null || return 1
	for name in $(names); do
		openssl x509 -in "$CERT.pem" -noout -checkhost "$name" | grep -q 'does match' || return 1
	done
	for address in $(addresses); do
		openssl x509 -in "$CERT.pem" -noout -checkip "$address" | grep -q 'does match' || return 1
	done
}

# foreign_cert reports whether the node has a certificate of others, such as ACME
# or an own CA.
foreign_cert() {
	[ -f "$CERT.pem" ] && ! openssl x509 -in "$CERT.pem" -noout -subject 2>/dev/null | grep -qF "$MARK"
}

# save_cert copies a certificate of others, with its key, to where only root
# reads.
save_cert() {
	[ "$FORCE_CERT" = true ] || die "$CERT.pem is not of this script and stays: it lacks a name of the node, or has less than a month left.
Renew it where it is from (ACME: pvenode acme cert renew), or connect by a name that it has and leave out the step cert.
FORCE_CERT=true replaces it, after a copy to $RECORDS; take the node's ACME domains away first, or PVE renews over it."
	saved=$RECORDS/$NODE-$(date -u +%Y%m%dT%H%M%SZ)
	say "+ copy $CERT.pem and its key to $saved.pem and .key"
	[ -z "$dry_run" ] || return 0
	mkdir -p "$RECORDS"
	(
		umask 077
		cp "$CERT.pem" "$saved.pem"
		[ ! -f "$CERT.key" ] || cp "$CERT.key" "$saved.key"
	)
}

step_cert() {
	ca=$PVE_DIR/pve-root-ca.pem
	if ! cmp -s "$ca" proxmox-ca.pem; then
		say "+ write ./proxmox-ca.pem"
		[ -n "$dry_run" ] || cp "$ca" proxmox-ca.pem
	fi
	if covered; then
		return
	fi
	if foreign_cert; then
		save_cert
	fi
	say "+ sign a certificate for $(names | tr '\n' ' ')$(addresses | tr '\n' ' ')"
	[ -z "$dry_run" ] || return 0
	make_work
	alternatives=$({ names | sed 's/^/DNS:/'; addresses | sed 's/^/IP:/'; } | tr '\n' ',' | sed 's/,$//')
	printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n' "$alternatives" >"$work/extensions"
	openssl req -new -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/request.pem" \
		-subj "/O=$MARK/CN=$(hostname -f)" 2>/dev/null
	openssl x509 -req -in "$work/request.pem" -CA "$ca" -CAkey "$PVE_DIR/priv/pve-root-ca.key" -CAcreateserial \
		-CAserial "$work/serial" -days 730 -sha256 -extfile "$work/extensions" -out "$work/cert.pem" 2>/dev/null
	change pvenode cert set "$work/cert.pem" "$work/key.pem" --force 1 --restart 1
}

# fetch_image downloads the cloud image and checks it against the sums beside
# it.
fetch_image() {
	name=${IMAGE_URL##*/}
	IMAGE=$1/$name
	say "+ download $IMAGE_URL"
	[ -z "$dry_run" ] || return 0
	curl -fsSL -o "$IMAGE" "$IMAGE_URL"
	curl -fsSL -o "$1/SHA512SUMS" "${IMAGE_URL%/*}/SHA512SUMS"
	(cd "$1" && grep -E "[ *]$name\$" SHA512SUMS | sha512sum -c - >/dev/null) || die "the image is not the one of $IMAGE_URL"
}

template_config() { get "/nodes/$NODE/qemu/$TEMPLATE_VMID/config"; }

step_template() {
	if config=$(template_config); then
		case $config in
		*'"template":1'* | *'"template":"1"'*) return ;;
		*"$MARK"*) ;; # An earlier run was interrupted.
		*) die "guest $TEMPLATE_VMID is there and is no template of this script: choose another TEMPLATE_VMID" ;;
		esac
	else
		make_template
	fi
	change qm template "$TEMPLATE_VMID"
}

make_template() {
	if [ -z "$IMAGE" ]; then
		make_work
		fetch_image "$work"
	fi
	change qm create "$TEMPLATE_VMID" --name "$TEMPLATE_NAME" --description "$MARK" --ostype l26 \
		--cores 2 --memory 2048 --cpu x86-64-v2-AES --scsihw virtio-scsi-single --agent enabled=1 \
		--serial0 socket --vga serial0 --net0 "virtio,bridge=$BRIDGE" --ide2 "$STORAGE:cloudinit" \
		--scsi0 "$STORAGE:0,import-from=$IMAGE" --boot order=scsi0
}

step_uninstall() {
	uninstall_user
	for role in "$GUEST_ROLE" "$SEED_ROLE" "$VIEW_ROLE"; do
		uninstall_noted role "$role" "/access/roles/$role" pveum role delete
	done
	uninstall_noted storage "$SEED_STORAGE" "/storage/$SEED_STORAGE" pvesm remove
	if config=$(template_config); then
		case $config in
		*"$MARK"*) change qm destroy "$TEMPLATE_VMID" ;;
		*) leave "guest $TEMPLATE_VMID" ;;
		esac
	fi
	uninstall_pool
	if foreign_cert; then
		leave "the certificate $CERT.pem"
	elif [ -f "$CERT.pem" ]; then
		change pvenode cert delete 1
	fi
	uninstall_files
}

# uninstall_files removes what was written into this folder.
uninstall_files() {
	for file in proxmox.auto.tfvars proxmox.env; do
		[ -f "$file" ] || continue
		if written "$file"; then
			change rm -f "$file"
		else
			leave "./$file"
		fi
	done
	if cmp -s "$PVE_DIR/pve-root-ca.pem" proxmox-ca.pem; then
		change rm -f proxmox-ca.pem
	fi
}

# uninstall_user removes the token, and the user unless it has tokens of others.
uninstall_user() {
	user=$(get "/access/users/$PVE_USER") || return 0
	mine=
	if token=$(get "/access/users/$PVE_USER/token/$TOKEN"); then
		case $token in
		*"$MARK"*)
			mine=$TOKEN
			change pveum user token remove "$PVE_USER" "$TOKEN"
			;;
		*) leave "the token $TOKEN_ID" ;;
		esac
	fi
	# A token's comment is the mark without parentheses.
	case $user in
	*"($MARK)"*) ;;
	*)
		leave "the user $PVE_USER, with its permissions,"
		return
		;;
	esac
	if tokens "$PVE_USER" | grep -qvxF "$mine"; then
		say "the user $PVE_USER has other tokens and stays"
		return
	fi
	change pveum user delete "$PVE_USER"
}

# tokens prints the names of a user's tokens, one a line.
tokens() { get "/access/users/$1/token" | tr -d ' \n' | tr ',{}' '[\n*]' | sed -n 's/^"tokenid":"\(.*\)"$/\1/p'; }

# uninstall_noted WHAT NAME PATH COMMAND... removes what was noted.
uninstall_noted() {
	what=$1 name=$2 path=$3
	shift 3
	exists "$path" || return 0
	if ! noted "$what" "$name"; then
		leave "the $what $name"
		return
	fi
	change "$@" "$name"
	forget "$what" "$name"
	[ "$what" = role ] || say "the images in $SEED_PATH are left where they are"
}

# uninstall_pool removes the reserved ids and the pool, unless it has guests.
uninstall_pool() {
	pool=$(get /pools --poolid "$POOL") || return 0
	case $pool in
	*"($MARK)"*) ;;
	*)
		leave "the pool $POOL"
		return
		;;
	esac
	pools=$(get /pools | tr -d ' \n' | tr ',{}' '[\n*]' | sed -n 's/^"poolid":"\(.*\)"$/\1/p')
	for pool in $(printf '%s\n' "$pools" | grep "^$POOL/id-" || true) "$POOL"; do
		change pveum pool delete "$pool" || say "the pool $pool is not empty and stays"
	done
}

[ $# -gt 0 ] || set -- --help
for argument in "$@"; do
	case $argument in
	--dry-run) dry_run=yes ;;
	--env) output="env" ;;
	esac
done
for argument in "$@"; do
	case $argument in
	--dry-run | --env) ;;
	role | seed | token | cert | template | uninstall) "step_$argument" ;;
	all)
		step_role
		step_seed
		step_token
		step_cert
		step_template
		;;
	-h | --help) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" ;;
	*) die "unknown step $argument: role, seed, token, cert, template, all or uninstall" ;;
	esac
done
