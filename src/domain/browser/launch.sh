# SPDX-License-Identifier: Apache-2.0
# Starts the browser of a sandbox: $1 its folder, $2 its folder for downloads, $3 for uploads, $4 its profile, $5 a profile to copy into that first ("":
# none), the rest are options for it. Its control channel, descriptors 3 and 4, is this command's standard input and output; what it prints goes to
# standard error. Ends with 127 if there is no browser.
folder=$1 profile=$4 from=$5
shift 5
# Chromium makes the folders that it needs by itself; a program for that takes longer. Only profiles of others are made here.
[ "$profile" = "$folder/profile" ] && [ -z "$from" ] || mkdir -p "$profile" || exit 1
if [ -d "$from" ]; then
        cp -R "$from/." "$profile/" || exit 1
        rm -f "$profile/.in_use"
fi
# A profile that outlives its sandbox: two browsers at once would damage it. The browser inherits the lock.
if [ "$profile" != "$folder/profile" ] && command -v flock >/dev/null; then
        exec 9>"$profile/.in_use" || exit 1
        if ! flock -n 9; then
                echo "another browser uses this profile" >&2
                exit 1
        fi
fi
[ -L "$profile/SingletonLock" ] && rm -f "$profile"/Singleton*
# The sandbox may have no /etc/fonts, and no cache of fonts (font_cache): each font that Chromium finds costs time at its start then. So it gets
# those that pages use.
# (A dir with prefix="xdg" would be all of /usr/share/fonts. Only what the shell does itself is used here: each program more takes its time too.)
if [ ! -r /etc/fonts/fonts.conf ]; then
        echo '<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts/truetype</dir>
  <dir>/usr/share/fonts/opentype/noto</dir>
  <dir>/usr/local/share/fonts</dir>
  <dir>~/.local/share/fonts</dir>
  <cachedir>/var/cache/fontconfig</cachedir>
  <cachedir>/tmp/.browser/fontconfig</cachedir>
  <alias><family>sans-serif</family><prefer><family>Liberation Sans</family><family>DejaVu Sans</family><family>Noto Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>Liberation Serif</family><family>DejaVu Serif</family><family>Noto Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>Liberation Mono</family><family>DejaVu Sans Mono</family><family>Noto Sans Mono</family></prefer></alias>
  <alias binding="same"><family>Arial</family><accept><family>Liberation Sans</family></accept></alias>
  <alias binding="same"><family>Helvetica</family><accept><family>Liberation Sans</family></accept></alias>
  <alias binding="same"><family>Times New Roman</family><accept><family>Liberation Serif</family></accept></alias>
  <alias binding="same"><family>Courier New</family><accept><family>Liberation Mono</family></accept></alias>
</fontconfig>' >"$folder.fonts.conf"
        export FONTCONFIG_FILE="$folder.fonts.conf"
fi
for program in /usr/lib/chromium/chromium-headless-shell /usr/lib/chromium/chromium /usr/lib/chromium-browser/chromium-browser \
        /usr/lib64/chromium-browser/chromium-browser /opt/google/chrome/chrome /usr/bin/headless-shell /headless-shell/headless-shell; do
        [ -x "$program" ] && exec "$program" "--user-data-dir=$profile" "$@" 3<&0 4>&1 </dev/null >&2
done
echo "no Chromium was found" >&2
exit 127
