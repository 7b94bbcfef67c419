// deno-lint-ignore-file no-console -- a program of its own
/**
 * The program's own reader of reports. Arguments: a file. Prints how long it took, how many cases it
 * found, and the greatest memory.
 */
import { readReport } from "../../../../lib/report/read_report.ts";

const [path = ""] = Deno.args;
const started = performance.now();
const file = await Deno.open(path);
let cases = 0;
await readReport(file.readable, { file: path, onResult: () => cases++ });
const seconds = (performance.now() - started) / 1000;
const status = await Deno.readTextFile("/proc/self/status");
const peakRssMb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
console.log(JSON.stringify({ seconds, cases, peakRssMb }));
