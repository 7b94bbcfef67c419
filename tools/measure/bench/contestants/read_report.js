// deno-lint-ignore-file no-console -- a program of its own
/**
 * Other readers of reports. Arguments: name of the library, a file. Prints how long it took, how many
 * cases it found, and the greatest memory.
 */
import { readFile } from "node:fs/promises";

const readers = {
  async "junit2json"() {
    const { parse } = await import("junit2json");
    return async (text) => {
      const { testsuite } = await parse(text);
      return testsuite.reduce((sum, suite) => sum + suite.testcase.length, 0);
    };
  },
  async "fast-xml-parser"() {
    const { XMLParser } = await import("fast-xml-parser");
    const parser = new XMLParser({ ignoreAttributes: false });
    return (text) => {
      const suites = [parser.parse(text).testsuites.testsuite].flat();
      return suites.reduce((sum, suite) => sum + [suite.testcase].flat().length, 0);
    };
  },
};

const [name, path] = process.argv.slice(2);
const read = await readers[name]();
const started = performance.now();
const cases = await read(await readFile(path, "utf8"));
const seconds = (performance.now() - started) / 1000;
const status = await readFile("/proc/self/status", "utf8");
const peakRssMb = Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024;
console.log(JSON.stringify({ seconds, cases, peakRssMb }));
