/** Tables of what was measured, so that no figure is ever copied by hand. */
import type { AfterUploadFigures } from "./after_upload.ts";
import type { LimitRow } from "./against_limit.ts";
import type { UncachedRow } from "./uncached.ts";
import type { DoorRow } from "./door.ts";
import type { UploadsRow } from "./uploads.ts";
import type { ExportFigures } from "./export.ts";
import type { GrowthRow } from "./growth.ts";
import type { HistoryFigures } from "./histories.ts";
import type { IngestFigures } from "./ingest.ts";
import type { PageRow } from "./pages.ts";
import type { StorageFigures } from "./storage.ts";

/** What one run measured; a section that was not wanted is missing. */
export interface Results extends Partial<AfterUploadFigures> {
  machine: Record<string, string | number | boolean>;
  api?: LimitRow[];
  crowd?: LimitRow[];
  growth?: GrowthRow[];
  storage?: StorageFigures;
  uncached?: UncachedRow[];
  histories?: HistoryFigures;
  ingest?: IngestFigures;
  door?: DoorRow[];
  uploads?: UploadsRow[];
  pages?: PageRow[];
  startup?: Record<string, number>;
  export?: ExportFigures;
}

/** All that was measured, as tables in Markdown. */
export function markdown(results: Results): string {
  const { machine, api, crowd, growth, storage, uncached, ingest, pages, startup } = results;
  const { door, uploads } = results;
  const parts: string[] = [];
  const section = (title: string, ...lines: string[]) => parts.push(`### ${title}`, ...lines);
  section("Machine", pairs(machine));
  if (api) section("Requests against the limit", limitTable(api), HALF_LOAD_NOTE);
  if (crowd) {
    section(
      "64 tokens over 200 repositories, in random order",
      limitTable(crowd),
      HALF_LOAD_NOTE,
    );
  }
  if (growth) {
    section(
      "Growth",
      table(
        ["endpoint", "results", "results", "p50 ms", "p50 ms", "ratio"],
        growth.map((row) => [
          row.endpoint,
          whole(row.small_results),
          whole(row.large_results),
          two(row.small_p50_ms),
          two(row.large_p50_ms),
          two(row.ratio),
        ]),
      ),
    );
  }
  if (storage) {
    const { tables, ...figures } = storage;
    section("Storage", pairs(figures));
    const rows = Object.entries(tables).map(([name, bytes]) => [name, two(bytes)]);
    parts.push(table(["table with indexes and TOAST", "bytes per result"], rows));
  }
  if (uncached) {
    section(
      "Attempts, causes and branches, nothing kept",
      table(
        ["what", "requests", "p50 ms", "slowest ms"],
        uncached.map((row) => [row.what, whole(row.requests), two(row.p50_ms), two(row.max_ms)]),
      ),
    );
  }
  if (results.histories) {
    const { pages: rows, runs, ...own } = results.histories;
    section(
      `20,000 tests with ${whole(runs)} runs each, of which 2,000 failed`,
      table(
        ["page", "code ms", "cold ms", "first of a process ms", "after an upload ms", "again ms"],
        rows.map((row) => [
          row.page,
          one(row.code_ms),
          one(row.cold_ms),
          one(row.first_ms),
          one(row.after_upload_ms),
          two(row.again_ms),
        ]),
      ),
      pairs(own),
    );
  }
  if (ingest) section("Taking reports in", pairs({ ...ingest }));
  if (door) section("Uploads of very many files", doorTable(door));
  if (uploads) section("Uploads", uploadsTable(uploads));
  if (results.export) section("Export and import", pairs({ ...results.export }));
  if (pages) {
    section(
      "Pages for browsers",
      table(
        ["page", "cold ms", "again ms", "compressed kB"],
        pages.map((row) => [row.page, one(row.cold_ms), two(row.again_ms), one(row.kb)]),
      ),
    );
  }
  if (startup) section("Start to the first answer", pairs(startup));
  const { after_upload_ms, after_tagged_upload_ms } = results;
  if (after_upload_ms !== undefined && after_tagged_upload_ms !== undefined) {
    section("Right after an upload", pairs({ after_upload_ms, after_tagged_upload_ms }));
  }
  return parts.join("\n\n") + "\n";
}

const HALF_LOAD_NOTE =
  "p50 and p99 are measured at half of the program's requests per second, for both at the same rate.";

function limitTable(rows: LimitRow[]): string {
  return table(
    ["endpoint", "requests/s", "limit", "ratio", "p50 ms", "p99 ms", "limit p99 ms", "p99 ratio"],
    rows.map((row) => [
      row.endpoint,
      whole(row.rps),
      whole(row.limit_rps),
      two(row.ratio),
      two(row.p50_ms),
      two(row.p99_ms),
      two(row.limit_p99_ms),
      two(row.p99_ratio),
    ]),
  );
}

/** As a table of Markdown. */
function doorTable(rows: readonly DoorRow[]): string {
  return table(
    [
      "uploads",
      "database",
      "API, longest / p99 ms",
      "`/health`, longest ms",
      "memory before / peak MB",
      "handles before / most",
      "responses",
      "stored",
      "answered / stored after s",
    ],
    rows.map((row) => [
      row.what,
      row.database,
      `${row.api_ms} / ${row.api_p99_ms}`,
      String(row.health_ms),
      `${row.memory_before_mb} / ${row.memory_mb}`,
      `${row.handles_before} / ${row.handles}`,
      Object.entries(row.responses).map(([status, count]) => `${count} × ${status}`).join(", "),
      String(row.stored),
      `${one(row.answered_s)} / ${one(row.processed_s)}`,
    ]),
  );
}

function uploadsTable(rows: readonly UploadsRow[]): string {
  const times = ({ p50, p95, max }: UploadsRow["visible"]) => `${p50} / ${p95} / ${max}`;
  return table(
    [
      "database",
      "acknowledged, p50 / p95 / max ms",
      "then visible, p50 / p95 / max ms",
      "first upload ms",
      "uploads/s",
      "API, longest ms",
      "CPU ms an upload, service / server",
    ],
    rows.map((row) => [
      row.database,
      times(row.acknowledged),
      times(row.visible),
      String(row.first_ms),
      one(row.uploads_per_second),
      String(row.api_ms),
      `${one(row.service_cpu)} / ${one(row.server_cpu)}`,
    ]),
  );
}

function pairs(figures: Record<string, string | number | boolean>): string {
  const rows = Object.entries(figures).map(([name, value]) => [
    name.replaceAll("_", " "),
    typeof value !== "number" ? String(value) : Math.abs(value) < 100 ? two(value) : whole(value),
  ]);
  return table(["what", "figure"], rows);
}

/** In columns, as `deno fmt` writes them. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]!.length))
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function whole(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function one(value: number): string {
  return value.toFixed(1);
}

function two(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}
