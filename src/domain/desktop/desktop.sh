# SPDX-License-Identifier: Apache-2.0
# The desktop of a sandbox: TigerVNC's X server on a unix socket, a window manager, a panel and a terminal. $1: its size, "1280x800".
# Everything is a child of this shell, so that it ends with it. Ends when the server or the window manager ends.
dir=/tmp/.cay-desktop workspace=$PWD
mask=$(umask)
umask 077
mkdir -p $dir/cache && cd $dir || exit 70
# A server of an earlier desktop whose script was killed for memory: two cannot have one display.
old=$(cat server.pid 2>/dev/null) && case $(tr '\0' ' ' 2>/dev/null </proc/$old/cmdline) in
*vnc*' :1 '*)
        kill -9 $old
        while kill -0 $old 2>/dev/null; do sleep 0.02; done
        ;;
esac
rm -f vnc.sock new.sock /tmp/.X1-lock /tmp/.X11-unix/X1 2>/dev/null

find_first() {
        for program in "$@"; do
                case $program in /*) [ -x "$program" ] ;; *) command -v "$program" >/dev/null ;; esac && {
                        echo "$program"
                        return 0
                }
        done
        return 1
}

server=$(find_first Xtigervnc Xvnc) || { echo 'no Xvnc is here' >&2; exit 69; }
wm=$(find_first openbox icewm fluxbox jwm matchbox-window-manager twm) || { echo 'no window manager is here' >&2; exit 69; }
terminal=$(find_first xterm lxterminal xfce4-terminal) || terminal=
files=$(find_first pcmanfm thunar xfe) || files=
browser=$(find_first /usr/lib/chromium/chromium firefox-esr firefox) || browser=
[ -z "$files" ] && [ -n "$terminal" ] && command -v mc >/dev/null && files="$terminal -e mc"
case $browser in
*chromium) browser="$browser --no-sandbox --disable-gpu --no-first-run --password-store=basic --user-data-dir=$dir/chromium" ;;
esac

export DISPLAY=:1 XDG_CONFIG_HOME=$dir/config XDG_CACHE_HOME=$dir/cache XENVIRONMENT=$dir/Xresources
export LANG="${LANG:-C.UTF-8}" LC_CTYPE=C.UTF-8
mkdir -p config/openbox config/tint2

# Without the machine's cache of fonts (font_cache of the sandbox) it takes longer to look through all fonts than the rest of the start.
# So what comes first has one folder of them then; what people and agents start has all.
write_fonts() {
        file=$1
        shift
        {
                echo '<?xml version="1.0"?><fontconfig>'
                for folder in "$@"; do echo "<dir>$folder</dir>"; done
                echo "<cachedir>/var/cache/fontconfig</cachedir><cachedir>$dir/cache/fontconfig</cachedir>"
                echo '<match target="pattern"><edit name="family" mode="append"><string>DejaVu Sans</string></edit></match></fontconfig>'
        } >"$file"
}
all_fonts='' few_fonts=''
if [ ! -e /etc/fonts/fonts.conf ]; then
        write_fonts fonts.conf /usr/share/fonts /usr/local/share/fonts
        all_fonts="env FONTCONFIG_FILE=$dir/fonts.conf" few_fonts=$all_fonts
        if [ -d /usr/share/fonts/truetype/dejavu ] && [ ! -e /var/cache/fontconfig/CACHEDIR.TAG ]; then
                write_fonts few.conf /usr/share/fonts/truetype/dejavu
                few_fonts="env FONTCONFIG_FILE=$dir/few.conf"
        fi
fi

item() {
        [ -n "$2" ] && echo "<item label=\"$1\"><action name=\"Execute\"><command>$all_fonts $2</command></action></item>"
}
{
        echo '<openbox_menu><menu id="root-menu" label="Desktop">'
        item Terminal "$terminal"
        item Files "$files"
        item Browser "$browser"
        echo '</menu></openbox_menu>'
} >config/openbox/menu.xml
cat >config/openbox/rc.xml <<'END'
<openbox_config>
<focus><focusNew>yes</focusNew><followMouse>no</followMouse></focus>
<placement><policy>Smart</policy></placement>
<theme><name>Clearlooks</name><titleLayout>NLIMC</titleLayout></theme>
<desktops><number>1</number></desktops>
<keyboard>
<keybind key="A-F4"><action name="Close"/></keybind>
<keybind key="A-Tab"><action name="NextWindow"/></keybind>
</keyboard>
<mouse>
<context name="Titlebar">
<mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
<mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
<mousebind button="Left" action="DoubleClick"><action name="ToggleMaximize"/></mousebind>
</context>
<context name="Client"><mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind></context>
<context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
<context name="Maximize"><mousebind button="Left" action="Click"><action name="ToggleMaximize"/></mousebind></context>
<context name="Iconify"><mousebind button="Left" action="Click"><action name="Iconify"/></mousebind></context>
<context name="Bottom"><mousebind button="Left" action="Drag"><action name="Resize"/></mousebind></context>
<context name="BLCorner"><mousebind button="Left" action="Drag"><action name="Resize"/></mousebind></context>
<context name="BRCorner"><mousebind button="Left" action="Drag"><action name="Resize"/></mousebind></context>
<context name="Root">
<mousebind button="Left" action="Press"><action name="ShowMenu"><menu>root-menu</menu></action></mousebind>
<mousebind button="Right" action="Press"><action name="ShowMenu"><menu>root-menu</menu></action></mousebind>
</context>
</mouse>
<menu><file>menu.xml</file></menu>
</openbox_config>
END
cat >Xresources <<'END'
XTerm*faceName: DejaVu Sans Mono
XTerm*faceSize: 11
XTerm*background: #16181d
XTerm*foreground: #e6e6e6
XTerm*utf8: 1
XTerm*VT100.geometry: 88x24+40+40
END

# The server comes with its sockets; nobody connects before the name of the socket is the one that others know.
$server :1 -geometry "${1:-1280x800}" -depth 24 -rfbport -1 -rfbunixpath $dir/new.sock -rfbunixmode 384 \
        -SecurityTypes None -AlwaysShared -nolisten tcp -noreset -quiet -br -extension GLX -desktop Cay &
server_pid=$!
echo $server_pid >server.pid
# What a command leaves behind runs on; without the server, its clients end too.
trap 'kill $server_pid 2>/dev/null; wait $server_pid' EXIT
while [ ! -S /tmp/.X11-unix/X1 ] || [ ! -S new.sock ]; do
        kill -0 $server_pid 2>/dev/null || { echo 'the X server ended at its start' >&2; exit 71; }
        sleep 0.02
done

cd "$workspace" || cd /
umask $mask
# A window manager may have gone to the home folder.
cat >$dir/up.sh <<END
cd "$workspace"
command -v xsetroot >/dev/null && xsetroot -solid '#2e4057'
command -v tint2 >/dev/null && $all_fonts tint2 &
if [ "$terminal" = xterm ]; then
        xterm -e sh $dir/shell.sh &
else
        $all_fonts ${terminal:-true} &
        mv $dir/new.sock $dir/vnc.sock
fi
END
# The first terminal's window is there when its shell starts: so the first picture shows more than an empty screen.
cat >$dir/shell.sh <<END
mv $dir/new.sock $dir/vnc.sock
shell=\$(command -v bash) || shell=sh
($all_fonts fc-match sans >/dev/null 2>&1 &)
exec $all_fonts \$shell
END
if [ "$wm" = openbox ]; then
        $few_fonts openbox --startup "sh $dir/up.sh" &
else
        $few_fonts $wm &
        sh $dir/up.sh
fi
wait $!
# With the server its clients go, so who went first is asked a moment later. A process that nobody has waited for has no command line.
sleep 0.1
if [ -z "$(tr -d '\0' 2>/dev/null </proc/$server_pid/cmdline)" ]; then
        wait $server_pid
        echo "the X server ended with status $?" >&2
        exit 72
fi
echo 'the window manager ended' >&2
exit 73
