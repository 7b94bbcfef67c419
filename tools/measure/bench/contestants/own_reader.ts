// deno-lint-ignore-file no-console -- a program of its own
/**
 * The program's own reader of reports. Arguments: a file. Prints how long it took and how many cases it
 * found.
 */
import { readReport } from "../../../../lib/report/read_report.ts";

const [path = ""] = Deno.args;
const started = performance.now();
const file = await Deno.open(path);
let cases = 0;
await readReport(file.readable, { file: path, onResult: () => cases++ });
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ seconds, cases }));
