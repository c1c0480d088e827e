#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs cloche into a dev container (Debian or Ubuntu), and an entry point
# that puts the firewall up before anything else runs
set -eu

here=$(cd "$(dirname "$0")" && pwd)
hosts=${ALLOW:-}
presets=${PRESET:-}
users=$(printf '%s\n%s\n' "${_REMOTE_USER:-vscode}" "${_CONTAINER_USER:-}" |
	grep -vx root | sort -u)
set -f	# The hosts are words, not patterns
for host in $hosts; do
	case $host in
	*[!A-Za-z0-9.:/_-]*)
		echo "cloche: allow: '$host' is not a host, an address or a network" >&2
		exit 1 ;;
	esac
done
for preset in $presets; do
	case $preset in
	anthropic | npm | github | debian) ;;
	*)
		echo "cloche: preset: '$preset' is not one of anthropic, npm, github, debian" >&2
		exit 1 ;;
	esac
done
set +f

source=${SOURCE:-https://github.com/cloche/cloche}
export DEBIAN_FRONTEND=noninteractive
apt-get update
if [ -d "$source" ]; then
	apt-get install -y --no-install-recommends nftables \
		"$source"/cloche_*.deb
else
	apt-get install -y --no-install-recommends build-essential \
		ca-certificates debhelper git libjansson-dev libseccomp-dev \
		libnghttp2-dev libpcre2-dev libsecret-1-dev libssl-dev meson \
		nftables pkg-config python3
	work=$(mktemp -d)
	git clone --depth 1 "$source" "$work/cloche"
	"$work/cloche/tools/make-deb" "$work/packages"
	apt-get install -y --no-install-recommends "$work"/packages/cloche_*.deb
	rm -rf "$work"
fi

# The entry point reads this; `cloche preflight` and `cloche doctor` report a
# firewall that it asks for and that is not up
mkdir -p /etc/cloche /usr/local/share/cloche
if [ -n "$hosts$presets" ]; then
	{
		for preset in $presets; do echo "preset $preset"; done
		for host in $hosts; do echo "allow $host"; done
		[ "${REMOVESUDO:-true}" != true ] ||
			for user in $users; do echo "user $user"; done
	} >/etc/cloche/firewall
fi
install -m 0755 "$here/entry" /usr/local/share/cloche/feature-entry

# A rule that asks for no password could undo the firewall
if [ -n "$hosts$presets" ] && [ "${REMOVESUDO:-true}" = true ]; then
	for file in /etc/sudoers /etc/sudoers.d/*; do
		[ ! -f "$file" ] || sed -i '/NOPASSWD/d' "$file"
	done
fi
