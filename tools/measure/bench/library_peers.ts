/** Reading reports and drawing badges, against libraries that are made for it. */
import type { Effort } from "./against_limit.ts";
import { builds, identities } from "./generate.ts";
import { writeReport } from "./junit_file.ts";
import type { PeerRow } from "./peers.ts";
import { denoRun, nodeRun } from "./processes.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

const RESULTS = 100_000;
const LIBRARIES = ["junit2json", "fast-xml-parser"];

interface Reading {
  seconds: number;
  cases: number;
  peakRssMb: number;
}

interface Speed extends Reading {
  mbPerSecond: number;
}

/** What was measured of reports. */
interface ReportFigures {
  peers: PeerRow[];
  /** Of the program's own reader. */
  mbPerSecond: number;
}

/**
 * Reads one report of 100,000 results with the program's reader and with others, each time in a
 * process of its own; its start is not counted.
 */
export async function measureReportPeers(
  { effort, peersFolder, report }: {
    effort: Effort;
    /** Without it the program's own reader alone is measured. */
    peersFolder: string | null;
    report: (line: string) => void;
  },
): Promise<ReportFigures> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/report.xml`;
    const expected = await writeOneReport(path);
    const megabytes = (await Deno.stat(path)).size / 1e6;
    const checked = async (run: Promise<unknown>): Promise<Speed> => {
      const reading = await run as Reading;
      if (reading.cases !== expected) {
        throw new Error(`found ${reading.cases} cases, expected ${expected}`);
      }
      return { ...reading, mbPerSecond: megabytes / reading.seconds };
    };
    const libraries = peersFolder === null ? [] : LIBRARIES.map((name) =>
      [
        name,
        () => checked(nodeRun(peersFolder, "read_report.js", name, path)),
      ] as const
    );
    const turns = await takeTurns<string, Speed>({
      program: () => checked(denoRun("own_reader.ts", path)),
      ...Object.fromEntries(libraries),
    }, effort.rounds);
    const speed = (readings: { mbPerSecond: number }[]) =>
      median(readings.map(({ mbPerSecond }) => mbPerSecond));
    const memory = (readings: Reading[]) => median(readings.map(({ peakRssMb }) => peakRssMb));
    const own = turns.program!;
    report(`program: ${speed(own).toFixed(1)} MB/s in ${memory(own).toFixed(0)} MB`);
    const peers = libraries.map(([name]): PeerRow => {
      const its = turns[name]!;
      const row: PeerRow = {
        name,
        endpoint: "reports",
        rps: speed(its),
        ratio: medianRatio(own, its, ({ mbPerSecond }) => mbPerSecond),
        peak_rss_mb: memory(its),
        own_peak_rss_mb: memory(own),
      };
      report(
        `${name}: ${row.rps.toFixed(1)} MB/s in ${memory(its).toFixed(0)} MB, ratio ${
          row.ratio.toFixed(2)
        }`,
      );
      return row;
    });
    return { peers, mbPerSecond: speed(own) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Badges in a second, each in a process of its own. */
export async function measureBadgePeers(
  { effort, peersFolder, report }: {
    effort: Effort;
    peersFolder: string;
    report: (line: string) => void;
  },
): Promise<PeerRow[]> {
  const seconds = String(effort.seconds);
  const drawn = async (run: Promise<unknown>) => {
    const { perSecond, bytes } = await run as { perSecond: number; bytes: number };
    if (!(bytes > 500)) throw new Error(`badges of ${bytes} bytes are none`);
    return perSecond;
  };
  const turns = await takeTurns({
    program: () => drawn(denoRun("own_badges.ts", seconds)),
    peer: () => drawn(nodeRun(peersFolder, "make_badges.js", seconds)),
  }, effort.rounds);
  const row: PeerRow = {
    name: "badge-maker",
    endpoint: "badges",
    rps: median(turns.peer),
    ratio: medianRatio(turns.program, turns.peer, (perSecond) => perSecond),
  };
  report(`badge-maker: ${row.rps.toFixed(0)} badges/s, ratio ${row.ratio.toFixed(2)}`);
  return [row];
}

/** @returns how many cases are in it */
async function writeOneReport(path: string): Promise<number> {
  const shape = {
    seed: 11,
    testCount: RESULTS,
    buildCount: 1,
    shardCount: 1,
    disruptiveTestCount: 1_000,
    disruptionCount: 100,
    from: 1_790_000_000,
    until: 1_790_000_000,
  };
  let cases = 0;
  for (const build of builds(shape)) {
    await writeReport(path, {
      build,
      tests: identities(RESULTS),
      onAttempt: () => cases++,
    });
  }
  return cases;
}
