/**
 * `deno task measure NAME [OPTIONS]`: what takes minutes to hours and belongs to no gate. `--help` after
 * the name prints the options.
 */
import process from "node:process";

/** What each measures; each is a folder with its own `main.ts`. */
const MEASUREMENTS: Readonly<Record<string, string>> = {
  bench: "the benchmark, on a throw-away PostgreSQL server: bench --quick",
  faults: "kills, stops, full disks and bad clients: faults --only kill --tries 200",
  soak: "half load with uploads arriving: soak --minutes 60 --database embedded",
  simulate: "a simulated year under several quarantine policies",
  receive: "a report of 1 GB, and 30 concurrent uploads at `receive`: time and memory",
  ozone: "a year of Apache Ozone's CI: how often conclusions were right: ozone FOLDER --quick",
  laboratory: "real test tools on planted tests; keeps their reports as fixtures: laboratory jest",
  organization: "every page of 60 repositories in Chromium: size, time, axe-core, pictures",
};

/** @returns the exit code */
async function main([name = "", ...args]: string[]): Promise<number> {
  if (!Object.hasOwn(MEASUREMENTS, name)) {
    const names = Object.entries(MEASUREMENTS).map(([one, what]) => `  ${one.padEnd(14)}${what}\n`);
    process.stderr.write(`Usage: deno task measure NAME [OPTIONS]\n\n${names.join("")}`);
    return name === "--help" ? 0 : 2;
  }
  const path = new URL(`./${name}/main.ts`, import.meta.url).pathname;
  const config = new URL("../../tests/deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", config, path, ...args],
  }).spawn();
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
