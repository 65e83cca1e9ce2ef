# title: rsync over ssh
# needs: rsync ssh sshd ssh-keygen
. "$(dirname "$0")/common.sh"
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f own
cat >sshd_config <<SSHD
Port 2222
HostKey $PWD/host
AuthorizedKeysFile $PWD/own.pub
StrictModes no
PermitRootLogin yes
PidFile none
SSHD
mkdir -p /run/sshd
grep -q ^sshd: /etc/passwd || echo sshd:x:999:65534::/run/sshd:/bin/false >>/etc/passwd
serve "$(command -v sshd)" -D -e -f "$PWD/sshd_config"
listening rcv 2222
head -c 2000000 /dev/urandom >file
ssh="ssh -p 2222 -i own -o StrictHostKeyChecking=no -o UserKnownHostsFile=known -o LogLevel=error"
began=$(date +%s%N)
same="env PATH=$PATH LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} rsync" # the other end finds it where this one does
rsync -e "$ssh" --rsync-path "$same" --stats file "root@rcv:$PWD/copy" | grep 'Total transferred file size'
echo "$((($(date +%s%N) - began) / 1000000)) ms"
cmp file copy
