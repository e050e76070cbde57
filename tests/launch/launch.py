# SPDX-License-Identifier: Apache-2.0
"""launch.py mpirun|srun|torchrun|ddp TOOL PACKAGE MPI_TRAINING: training under a real launcher.

Checks that the ranks together have each sample of an epoch once, in equal steps; that one state serves all ranks and resumes
with fewer and with more; that a killed run resumes bit for bit; and that a benchmark prints one table. Exits with 77 and the
reason if the launcher is not installed or does not run. MPI_TRAINING: the example, or "". ddp: examples/ddp_torchrun.py,
which holds its ranks together by gloo, under torchrun and mpirun.
"""
import collections
import contextlib
import importlib.util
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import slurm

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "python/tests"))
import warm  # noqa: E402: of the Python tests

PYTHON = "/usr/bin/python3"
OF_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_", "GROUP_", "OMPI_", "PMI", "PALS_", "SLURM_", "TORCHELASTIC_")


def run(command, code=0, **variables):
    """Returns the standard output of a command, which must exit with `code` (None: any except 0)."""
    environment = os.environ | variables
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode != code and (code is not None or done.returncode == 0):
        sys.exit(f"{' '.join(map(str, command))}: ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout if code == 0 else done.stdout + done.stderr


def expect(good, what):
    if not good:
        sys.exit(f"not so: {what}")


def each_json(text):
    """Returns the values that several processes wrote one after the other."""
    decoder, values = json.JSONDecoder(), []
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:]
    return values


class Mpirun:
    name = "Open MPI"

    @staticmethod
    def command(ranks, *command):
        return ["mpirun", "--oversubscribe", "-n", ranks, *command]


class Srun:
    name = "Slurm"

    @staticmethod
    def command(ranks, *command):
        return ["srun", "--quiet", "--kill-on-bad-exit", "--overcommit", "-n", ranks, *command]


class Torchrun:
    name = "torchrun"
    restarts = 0

    @classmethod
    def command(cls, ranks, *command):
        # 9:1 is the default, no redirection, in a form that torch 1.13 understands in Python 3.11, too.
        options = ["--monitor_interval=0.1", "--redirects=9:1", "--tee=9:1", "--no_python"]
        counts = [f"--max_restarts={cls.restarts}", f"--nproc_per_node={ranks}", "--nnodes=1"]
        # --standalone would use the same port for all runs on a machine.
        (port,) = slurm.free_ports(1)
        meeting = ["--rdzv_backend=c10d", f"--rdzv_endpoint=localhost:{port}", f"--rdzv_id={port}"]
        return [PYTHON, "-m", "torch.distributed.run", *options, *counts, *meeting, *command]


# ---- ranks ----


def check_found(launcher, tool):
    """Each process gets its own rank and knows its local rank."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        # From their own files: processes that share a pipe write into each other's lines.
        script = f'exec "{tool}" info --system --json > "$(mktemp "{folder}/XXXXXX")"'
        run(launcher.command(4, "sh", "-c", script))
        for path in pathlib.Path(folder).iterdir():
            found.append(json.loads(path.read_text())["ranks"])
    found.sort(key=lambda ranks: ranks["rank"])
    expect([ranks["rank"] for ranks in found] == [0, 1, 2, 3], found)
    expect(all(ranks["world_size"] == 4 and ranks["launcher"] == launcher.name for ranks in found), found)
    expect(sorted(ranks["local_rank"] for ranks in found) == [0, 1, 2, 3], found)
    expect(all(ranks["local_size"] == 4 for ranks in found), found)
    expect(len({ranks["job"] for ranks in found}) == 1 and found[0]["job"], found)


def check_bench(launcher, tool, work):
    text = run(launcher.command(4, tool, "bench", work / "photos", "--size", 32, "--batch", 4, "--workers", 1,
                                "--seconds", "300ms", "--rank-files", work, "--json"))  # fmt: skip
    values = each_json(text)
    expect(len(values) == 1, f"one rank speaks: {text}")
    expect([rank["rank"] for rank in values[0]["ranks"]] == [0, 1, 2, 3], values)
    expect(values[0]["samples"] == sum(rank["samples"] for rank in values[0]["ranks"]) > 0, values)
    expect(not list(work.glob("sluice-bench*")), "its files are gone")


def check_pack(launcher, tool, work):
    """Four processes pack the same bytes as one; each prints its part."""
    run([tool, "synth", work / "many", "--count", 50, "--classes", 3])
    run([tool, "pack", work / "many", work / "one", "--shard-size", "1MiB"])
    text = run(launcher.command(4, tool, "pack", work / "many", work / "four", "--shard-size", "1MiB"))
    expect(all(f"part {part} of 4: " in text for part in range(4)), text)
    expect("all parts are complete and joined" in text, text)  # by one process, or by two that ended at once
    files = [{path.name: path.read_bytes() for path in (work / out).iterdir()} for out in ("one", "four")]
    expect(files[0] == files[1], f"the same files: {sorted(files[0])} {sorted(files[1])}")
    text = run(launcher.command(4, tool, "verify", work / "four"))
    expect(text.count("all good") == 4, text)


# ---- shares of an epoch ----


class Shares:
    """Returns the output of a run's ranks: a dict of steps for each rank."""

    def __init__(self, folder, ranks):
        self.steps = []
        for rank in range(ranks):
            lines = (folder / f"{rank}.{ranks}").read_text().splitlines()
            self.steps.append({line[0]: line[1:] for line in map(json.loads, lines)})

    def samples(self):
        return [i for steps in self.steps for line in steps.values() for i in line[0]]

    def batches(self):
        return [{step: line[:2] for step, line in steps.items()} for steps in self.steps]

    def check(self):
        """Checks that each rank has the same number of steps and the same state. Returns the state."""
        expect(len({tuple(steps) for steps in self.steps}) == 1, f"steps: {[list(steps) for steps in self.steps]}")
        for step in self.steps[0]:
            expect(len({json.dumps(steps[step][2]) for steps in self.steps}) == 1, f"states behind step {step}")
        return list(self.steps[0].values())[-1][2]


def share(launcher, work, ranks, out, *options, code=0):
    (work / out).mkdir(exist_ok=True)
    run(launcher.command(ranks, PYTHON, HERE / "share.py", work / "photos", work / out, *options), code=code)
    return Shares(work / out, ranks)


def check_shares(launcher, work):
    whole = share(launcher, work, 4, "whole")
    whole.check()
    expect(sorted(whole.samples()) == list(range(41)), "each sample once")
    had = []
    state = None
    for ranks, steps in ((4, 2), (3, 2), (5, 9)):
        options = ["--steps", steps]
        if state is not None:
            (work / "state").write_text(json.dumps(state))
            options += ["--state", work / "state"]
        shares = share(launcher, work, ranks, f"of{ranks}", *options)
        state = shares.check()
        had += shares.samples()
    expect(sorted(had) == list(range(41)), f"4, 3 and 5 ranks: {sorted(collections.Counter(had).items())}")
    return whole


def check_killed(launcher, work, whole):
    """The last rank dies in step 3; all resume from the state after step 2."""
    options = ["--save-at", 2, "--die", "--state", work / "killed" / "state"]
    if launcher is Torchrun:
        Torchrun.restarts = 1  # it restarts all ranks by itself
        shares = share(launcher, work, 4, "killed", *options)
        Torchrun.restarts = 0
    else:
        share(launcher, work, 4, "killed", *options, code=None)
        expect((work / "killed" / "state").exists(), "a state was saved")
        shares = share(launcher, work, 4, "killed", *options)
    shares.check()
    expect(shares.batches() == whole.batches(), "the same batches, bit for bit")


# ---- launchers in launchers, and MPI itself ----


def found_by(text):
    return [line.partition("ranks")[2].strip() for line in text.splitlines() if line.startswith("ranks")]


def check_example(launcher, example, work):
    def train(ranks, *options, code=0, **variables):
        return run(launcher.command(ranks, example, work / "photos", 2, *options), code=code, **variables).splitlines()

    whole = train(4)
    expect(whole[1:3] == [f"epoch {epoch}: 3 steps on each rank, each of 41 samples once" for epoch in (0, 1)], whole)
    train(4, work / "a", 3, code=None)
    again = train(4, work / "a")
    expect("resuming in epoch 0" in again and again[-1] == whole[-1], f"{whole} {again}")
    train(4, work / "b", 3, code=None)
    fewer = train(3, work / "b", 1, code=None)
    expect(any(line.startswith("resuming") for line in fewer), fewer)
    more = train(5, work / "b")
    expect("epoch 0: 1 steps on each rank, each of 41 samples once" in more, more)
    expect("epoch 0: 6 steps on each rank, each of 41 samples once" in train(4, MODEL_PARALLEL="2"), "groups of two")
    expect("not divisible" in "".join(train(4, MODEL_PARALLEL="3", code=None)), "groups of three")


def check_mpirun(tool, example, work):
    alone = Mpirun.command(1, tool, "info", "--system")
    text = run(alone, code=None, RANK="0", WORLD_SIZE="2")
    expect("rank 0 of 2" in text and "OMPI_COMM_WORLD_RANK" in text, text)
    if example:
        check_example(Mpirun, example, work)
    else:
        print("examples/mpi_training.c is not built here (libopenmpi-dev): left out")


def run_batch(out, script):
    """Returns the output of a batch script; sbatch --wait would poll every ten seconds."""
    run(["sbatch", "--quiet", "-n", "2", "-o", out, "--wrap", f"{script}; echo end"])
    for _ in range(3000):
        if out.exists() and out.read_text().endswith("end\n"):
            return out.read_text()
        time.sleep(0.1)
    sys.exit("the batch script does not end")


def check_srun(tool, example, work):
    info = [tool, "info", "--system"]
    script = f"{tool} info --system; srun --mpi=pmi2 -n 2 {tool} info --system | grep ranks"
    if missing_mpirun() is None:
        script += f"; mpirun --oversubscribe -n 2 {tool} info --system | grep ranks"
    found = found_by(run_batch(work / "batch", script))
    expect(found[0].startswith("one process"), found)
    of_step = [f"rank {i} of 2 (Slurm: SLURM_PROCID, SLURM_NTASKS); {i} of 2 on this machine" for i in (0, 1)]
    expect(sorted(found[1:3]) == of_step, found)
    expect(all("Open MPI" in line for line in found[3:]) and len(found) in (3, 5), found)
    expect(found_by(run(["srun", "--quiet", "-n", "1", *info]))[0].startswith("one process"), "one task")
    types = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True)
    if example and "pmix" in types.stdout + types.stderr:
        text = run(["srun", "--quiet", "--mpi=pmix", "--overcommit", "-n", 4, example, work / "photos", 1])
        expect("each of 41 samples once" in text and "Slurm" in text, text)
    if importlib.util.find_spec("torch"):
        first, second = (shlex.join(map(str, Torchrun.command(3, *info))) for _ in range(2))
        each = f'if [ "$SLURM_PROCID" = 0 ]; then exec {first}; else exec {second}; fi'
        found = found_by(run(["srun", "--quiet", "-n", "2", "sh", "-c", each]))
        ranks = sorted(line[: len("rank 0 of 3 (torchrun")] for line in found)
        expect(ranks == [f"rank {i // 2} of 3 (torchrun" for i in range(6)], found)
        expect(all("; Slurm's" in line and "of 2 ignored" in line for line in found), found)


def check_torchrun(tool, example, work):
    if missing_mpirun() is None:
        text = run(Mpirun.command(1, *Torchrun.command(2, tool, "info", "--system")))
        found = found_by(text)
        expect(len(found) == 2 and all("of 2 (torchrun" in line for line in found), text)
        expect(all("Open MPI's 0 of 1 ignored" in line for line in found), text)


def check_ddp(work):
    """The example itself raises if ranks differ, or if a sample came twice or never."""

    def train(launcher, ranks, *options):
        example = HERE.parents[1] / "examples" / "ddp_torchrun.py"
        return run(launcher.command(ranks, PYTHON, example, work / "photos", *options)).splitlines()

    checkpoint = ["--checkpoint", work / "state"]
    lines = train(Torchrun, 4, *checkpoint, "--epochs", 1, "--save-at", 1, "--stop")
    expect(lines[-1] == "epoch 0: saved after step 1", lines)
    lines = train(Torchrun, 3, *checkpoint, "--epochs", 1, "--resume", "--save-at", 1, "--stop")
    expect(lines[0] == "resuming in epoch 0 after 16 of 41 samples", lines)
    lines = train(Torchrun, 5, *checkpoint, "--epochs", 1, "--resume")
    expect(lines[0] == "resuming in epoch 0 after 28 of 41 samples", lines)
    expect(lines[2] == "epoch 0: 1 steps on each rank, each of 41 samples once", lines)
    if missing_mpirun() is None:
        lines = train(Mpirun, 2, "--epochs", 1)
        expect(lines[0] == "ranks: [(0, 2), (1, 2)]" and "each of 41 samples once" in lines[1], lines)


def missing_mpirun():
    """Returns why the mpirun tests cannot run, or None. Other MPIs have other options."""
    if shutil.which("mpirun") is None:
        return "openmpi-bin is not installed"
    done = subprocess.run(["mpirun", "--version"], capture_output=True, text=True)
    says = (done.stdout + done.stderr).strip().partition("\n")[0]
    if done.returncode != 0:
        return f"mpirun does not run: {says}"
    return None if "Open MPI" in says or "OpenRTE" in says else f"mpirun is not Open MPI's: {says}"


def main():
    global PYTHON
    name, tool, package, example = sys.argv[1:]
    launcher = {"mpirun": Mpirun, "srun": Srun}.get(name, Torchrun)
    for variable in [variable for variable in os.environ if variable.startswith(OF_LAUNCHERS)]:
        del os.environ[variable]
    os.environ |= {"PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                   "GLOO_SOCKET_IFNAME": "lo", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    no_torch = importlib.util.find_spec("torch") is None and "python3-torch is not installed"
    missing = {"mpirun": missing_mpirun(), "srun": None, "ddp": no_torch or warm.no_torchrun()}.get(name, no_torch)
    if missing:
        print(f"skipped: {missing}")
        return 77
    if launcher is Torchrun:
        PYTHON = warm.python()  # importing torch would take most of the time
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        work = pathlib.Path(folder)
        try:
            if name == "srun":
                (work / "slurm").mkdir()
                stack.enter_context(slurm.running(work / "slurm"))
        except slurm.Missing as reason:
            print(f"skipped: {reason}")
            return 77
        run([tool, "synth", work / "photos", "--count", 41, "--classes", 4, "--size-scale", 0.2])
        if name == "ddp":
            check_ddp(work)
            return 0
        check_found(launcher, tool)
        whole = check_shares(launcher, work)
        check_killed(launcher, work, whole)
        check_bench(launcher, tool, work)
        check_pack(launcher, tool, work)
        {"mpirun": check_mpirun, "srun": check_srun, "torchrun": check_torchrun}[name](tool, example, work)
    return 0


sys.exit(main())
