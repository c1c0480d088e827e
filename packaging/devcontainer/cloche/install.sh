#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs cloche into a dev container (Debian or Ubuntu), and an entry point
# that puts the firewall up before anything else runs
set -eu

source=${SOURCE:-https://github.com/cloche/cloche}
export DEBIAN_FRONTEND=noninteractive
apt-get update
if [ -d "$source" ]; then
	apt-get install -y --no-install-recommends nftables \
		"$source"/cloche_*.deb
else
	apt-get install -y --no-install-recommends build-essential \
		ca-certificates debhelper git libjansson-dev libseccomp-dev \
		libsecret-1-dev libssl-dev meson nftables pkg-config python3
	work=$(mktemp -d)
	git clone --depth 1 "$source" "$work/cloche"
	"$work/cloche/tools/make-deb" "$work/packages"
	apt-get install -y --no-install-recommends "$work"/packages/cloche_*.deb
	rm -rf "$work"
fi

mkdir -p /usr/local/share/cloche
cat >/usr/local/share/cloche/feature-entry <<EOF
#!/bin/sh
# Made by the feature: the firewall, then the container's own start
set -f
allow='$(printf %s "${ALLOW:-}" | tr -cd 'A-Za-z0-9.:/_ -')'
if [ -n "\$allow" ]; then
	words=
	for host in \$allow; do words="\$words --allow \$host"; done
	cloche firewall up \$words ||
		echo "cloche: the firewall is not as asked for: see above" >&2
fi
set +f
exec "\$@"
EOF
chmod 0755 /usr/local/share/cloche/feature-entry
if [ -n "${ALLOW:-}" ] && [ "${REMOVESUDO:-true}" = true ]; then
	rm -f "/etc/sudoers.d/${_REMOTE_USER:-vscode}"
fi
