"""The Python module against the command line and formulas.

Run by ctest, which sets PYTHONPATH to the module and PODSIM to the binary.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import unittest

import podsim

try:
    import numpy
except ImportError:
    numpy = None
try:
    import matplotlib
except ImportError:
    matplotlib = None


def run(*arguments):
    return subprocess.run([os.environ["PODSIM"], *arguments], capture_output=True, text=True, check=False)


def result(*arguments):
    return json.loads(run(*arguments).stdout)


class SliceTest(unittest.TestCase):
    def test_a_torus(self):
        torus = podsim.slice("v5p:4x4x4")
        self.assertEqual(torus.chips, 64)
        self.assertEqual(torus.links, 64 * 6)  # a link each way along three axes
        self.assertEqual(torus.shape, [4, 4, 4])
        self.assertEqual(torus.diameter, 3 * 2)  # half of every ring
        self.assertEqual(torus.bisection["links"], 2 * 16)  # two cuts of every ring
        self.assertTrue(all(torus.wraps))

    def test_the_report_is_that_of_the_command_line(self):
        for spec in ("v5e:4x4", "v4:4x4x8:twisted"):
            report = result("topology", spec, "--json")
            made = podsim.slice(spec)
            for key in set(report) - {"format", "version"}:
                self.assertEqual(getattr(made, key), report[key], key)

    def test_parameters_and_faults_go_with_the_slice(self):
        slow = podsim.slice("v5e:4x4", set={"ici.bandwidth": "1GB/s"}, faults=["link:0,0:x+"])
        point = podsim.collective("all-gather", slice=slow, bytes="1MiB", lowering="direct")
        self.assertEqual(point, result(
            "collective", "all-gather", "--slice", "v5e:4x4", "--bytes", "1MiB", "--lowering", "direct",
            "--set", "ici.bandwidth=1GB/s", "--fault", "link:0,0:x+", "--json", "-")["points"][0])


class CollectiveTest(unittest.TestCase):
    def test_points_are_those_of_the_command_line(self):
        for lowering, network, fold in (("auto", "fluid", "auto"), ("bucket", "fifo", "off")):
            point = podsim.collective("all-reduce", slice="v5e:4x4", bytes="3MiB", lowering=lowering,
                                      network=network, fold=fold)
            self.assertEqual(point, result(
                "collective", "all-reduce", "--slice", "v5e:4x4", "--bytes", "3MiB", "--lowering", lowering,
                "--network", network, "--fold", fold, "--json", "-")["points"][0])

    def test_a_ring_takes_what_its_formula_says(self):
        # (n-1)(alpha + S/(nB)) with alpha = 1 us and B = 1 GB/s.
        point = podsim.collective("all-gather", slice="ideal:8", bytes=8_000_000, lowering="ring",
                                  set={"ici.bandwidth": "1GB/s", "ici.hop_latency": "1us"})
        self.assertAlmostEqual(point["time_s"], 7 * (1e-6 + 1e6 / 1e9), places=12)

    def test_compare(self):
        points, others = podsim.compare("all-to-all", slice="v5e:4x4", bytes=1 << 20)
        expected = result("compare", "all-to-all", "--slice", "v5e:4x4", "--bytes", "1MiB", "--json", "-")
        self.assertEqual(points, expected["points"])
        self.assertEqual(others, expected["not_applicable"])
        times = [point["time_s"] for point in points]
        self.assertEqual(times, sorted(times))

    def test_errors_have_the_text_of_the_command_line(self):
        for arguments, words in (
                ({"slice": "v5p:4x4x5", "bytes": "1MiB"}, ("--slice", "v5p:4x4x5", "--bytes", "1MiB")),
                ({"slice": "v5e:4x4", "bytes": "1 apple"}, ("--slice", "v5e:4x4", "--bytes", "1 apple")),
                ({"slice": "v5e:4x4", "bytes": 64, "fold": "maybe"},
                 ("--slice", "v5e:4x4", "--bytes", "64B", "--fold", "maybe")),
                ({"slice": "v5e:4x4"}, ("--slice", "v5e:4x4"))):
            with self.assertRaises(podsim.InputError) as caught:
                podsim.collective("all-reduce", **arguments)
            self.assertIsInstance(caught.exception, ValueError)
            failed = run("collective", "all-reduce", *words)
            self.assertEqual(failed.returncode, 2)
            self.assertEqual(f"podsim: error: {caught.exception}\n", failed.stderr)

    def test_threads_take_turns(self):
        def simulate(payload):
            return podsim.collective("all-reduce", slice="v5e:4x4", bytes=payload, lowering="bucket", fold="off")

        payloads = [1 << power for power in range(10, 26)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(simulate, payloads)), [simulate(payload) for payload in payloads])

    def test_what_writes_files_is_refused(self):
        with self.assertRaises(TypeError):
            podsim.collective("all-reduce", slice="v5e:4x4", bytes=64, html="x.html")


class FileTest(unittest.TestCase):
    def test_a_workload_as_file_and_as_dict(self):
        path = "workloads/gradient_buckets.json"
        expected = result("simulate", path, "--json", "-")
        self.assertEqual(podsim.simulate(path), expected)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(podsim.simulate(json.load(file)), expected)

    def test_edits_of_steps_and_flags_that_they_do_not_have(self):
        path = "workloads/gradient_buckets.json"
        expected = result("simulate", path, "--async", "off", "--json", "-")
        with open(path, encoding="utf-8") as file:
            workload = json.load(file)
        self.assertEqual(podsim.simulate(workload, async_="off"), expected)
        self.assertEqual(podsim.simulate(path, async_="off"), expected)
        for given in (path, workload):
            with self.assertRaisesRegex(podsim.InputError, "--bytes"):
                podsim.simulate(given, bytes="1MiB")
        with self.assertRaisesRegex(podsim.InputError, "GOAL"):
            podsim.simulate("x.goal")

    def test_an_hlo_module(self):
        path = "workloads/hlo/async_pairs.hlo"
        self.assertEqual(podsim.simulate(path, slice="v5p:4x4x4"),
                         result("simulate", path, "--slice", "v5p:4x4x4", "--json", "-"))

    def test_a_sweep(self):
        sweep = {"format": "podsim-sweep/1", "collective": "all-reduce", "slice": ["v5e:4x4", "ideal:8"],
                 "bytes": "1KiB..1MiB x32", "lowering": ["ring", "bucket"]}
        rows = podsim.sweep(sweep, jobs=2)
        self.assertEqual(len(rows), 2 * 3 * 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sweep.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(sweep, file)
            self.assertEqual(rows, podsim.sweep(path))
            output = os.path.join(folder, "out.json")
            run("sweep", path, "-o", output)
            with open(output, encoding="utf-8") as file:
                self.assertEqual(rows, json.load(file)["points"])
        # A row has an error where a point failed; the others are points.
        self.assertEqual(["error" in row for row in rows], [row.get("time_s") is None for row in rows])
        self.assertEqual(len(podsim.sweep(sweep, only=["slice=ideal*"], except_=["lowering=bucket"])), 3)

    def test_a_wrong_schedule_is_an_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schedule.json")
            run("lower", "all-gather", "--slice", "ideal:4", "--bytes", "4KiB", "--lowering", "ring", "-o", path)
            self.assertEqual(podsim.simulate(path), result("simulate", path, "--json", "-"))
            with self.assertRaisesRegex(podsim.InputError, "--fold on: a schedule is simulated as it stands"):
                podsim.simulate(path, fold="on")
            with open(path, encoding="utf-8") as file:
                schedule = json.load(file)
            schedule["ops"].pop()  # one chunk does not arrive
            with open(path, "w", encoding="utf-8") as file:
                json.dump(schedule, file)
            self.assertEqual(len(podsim.simulate(path)["violations"]), 1)


@unittest.skipIf(numpy is None, "numpy is not installed")
class ScheduleTest(unittest.TestCase):
    def test_a_ring(self):
        ring = podsim.schedule("all-gather", slice="ideal:4", bytes=4096, lowering="ring")
        self.assertEqual(len(ring), 4 * 3)  # n chips, n - 1 steps
        self.assertTrue((ring.kind == 0).all())
        self.assertEqual(ring.bytes.tolist(), [1024] * 12)
        forward = (ring.src + 1) % 4 == ring.dst
        self.assertTrue(forward.all() or not forward.any())  # one direction
        # Dependences are older ops, and end where the next chunk's way begins.
        self.assertEqual(len(ring.after_offsets), 13)
        self.assertEqual(ring.after_offsets[-1], len(ring.after))
        for op in range(12):
            for older in ring.after[ring.after_offsets[op]:ring.after_offsets[op + 1]]:
                self.assertLess(older, op)

    def test_bytes_are_those_of_the_point(self):
        request = {"slice": "v5e:4x4", "bytes": "1MiB", "lowering": "bucket"}
        bucket = podsim.schedule("all-reduce", **request)
        point = podsim.collective("all-reduce", **request)
        self.assertEqual(int((bucket.kind == 0).sum()), point["transfers"])
        self.assertEqual(int(bucket.bytes.sum()), point["byte_hops"])  # one hop each
        self.assertEqual(bucket.lowering, point["lowering"])


@unittest.skipIf(numpy is None or matplotlib is None, "matplotlib is not installed")
class ExamplesTest(unittest.TestCase):
    def draw(self, script, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "example.png")
            subprocess.run([sys.executable, f"scripts/examples/{script}", *arguments, "-o", path], check=True)
            with open(path, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_efficiency(self):
        self.draw("plot_efficiency.py", "--slice", "v5e:4x4", "--lowering", "bucket", "direct")

    def test_bandwidth(self):
        self.draw("plot_bandwidth.py", "--slices", "v5e:2x2", "v5e:4x4")


if __name__ == "__main__":
    unittest.main()
