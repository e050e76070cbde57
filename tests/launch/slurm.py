# SPDX-License-Identifier: Apache-2.0
"""Runs Slurm on one machine: the distribution's munged, slurmctld and slurmd, in a separate folder, as this user.
Raises Missing with the reason if a program is missing or does not start."""
import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=500
PartitionName=all Nodes={host} Default=YES MaxTime=10 State=UP
"""


class Missing(Exception):
    pass


def _program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"there is no {name}: install slurmctld, slurmd, slurm-client and munge")
    return found


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _wait(folder, what, ready, process=None):
    for _ in range(1200):
        if ready():
            return
        if process is not None and process.poll() is not None:
            break
        time.sleep(0.1)
    logs = "".join(log.read_text(errors="replace")[-600:] for log in sorted(folder.glob("*.log")))
    raise Missing(f"{what} does not come up here: {' '.join(logs.split())[-500:]}")


def _is_up():
    state = subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, text=True)
    return state.stdout.strip() in ("idle", "mix", "alloc")


def _steps(configuration):
    """Process numbers of this Slurm's slurmstepd, which outlive slurmd where it ends before they do."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command, environment = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
            if command.startswith(b"slurmstepd") and f"SLURM_CONF={configuration}\0".encode() in environment:
                found.append(int(process.name))
    return found


def _end_steps(configuration):
    """Lets them report that they are over; for so long."""
    for _ in range(1200):
        if not _steps(configuration):
            return
        time.sleep(0.1)
    for process in _steps(configuration):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def running(folder):
    """Sets SLURM_CONF while it runs."""
    folder = pathlib.Path(folder)
    names = ("munged", "slurmctld", "slurmd", "sinfo", "srun", "sbatch")
    munged, slurmctld, slurmd, *_ = [_program(name) for name in names]
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    folder.chmod(0o755)  # munged wants its socket to be reachable
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    configuration = CONFIGURATION.format(folder=folder, host=host, user=getpass.getuser(), ports=free_ports(2))
    (folder / "slurm.conf").write_text(configuration)
    files = {"socket": "munge.socket", "key-file": "munge.key", "log-file": "munged.log", "pid-file": "munged.pid",
             "seed-file": "munged.seed"}  # fmt: skip
    commands = [
        [munged, "--foreground", "--force", *(f"--{option}={folder}/{name}" for option, name in files.items())],
        [slurmctld, "-D", "-c"],
        [slurmd, "-D"],
    ]  # fmt: skip
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    processes = []
    try:
        for command in commands:
            with open(folder / f"{os.path.basename(command[0])}.out.log", "w") as log:
                processes.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
            if len(processes) == 1:
                _wait(folder, "munged", (folder / "munge.socket").exists, processes[0])
        _wait(folder, "slurmd", _is_up, processes[2])
        yield
    finally:
        _end_steps(os.environ["SLURM_CONF"])
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        del os.environ["SLURM_CONF"]
