/** Metrics in the text format of Prometheus. */
import process from "node:process";

const PREFIX = "test_analytics_";

/** Upper bounds of the histograms, in seconds. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** The metrics of `serve`, `receive` and `watch`, by name without the prefix. */
const DESCRIPTIONS = {
  http_requests_total: ["counter", "Requests by route and status."],
  http_request_duration_seconds: ["histogram", "Time from a request to its response, by route."],
  response_cache_total: ["counter", "Requests that found their response in the cache, or not."],
  lookup_batches_total: [
    "counter",
    "Look-ups of tokens, each for all requests that came together.",
  ],
  tokens_expiring: ["gauge", "Valid tokens that expire within 14 days."],
  throttled_requests_total: ["counter", "Wrong tokens refused without a look-up of their own."],
  database_statement_seconds: ["histogram", "Statements and transactions, waiting included."],
  database_wait_seconds: ["histogram", "Time that statements waited for a connection."],
  log_lines_dropped_total: [
    "counter",
    "Lines of the log that did not fit, because standard error is not read fast enough.",
  ],
  disk_free_bytes: ["gauge", "Free bytes of the disk that uploads are received on."],
  disk_needed_bytes: ["gauge", "Free bytes below which uploads are refused."],
  uploads_running: ["gauge", "Uploads that are being received, checked or stored."],
  upload_bytes_total: ["counter", "Bytes of the uploads that were acknowledged."],
  archives_waiting: ["gauge", "Archives found by the running sweep and not processed yet."],
  archives_oldest_seconds: ["gauge", "Age of the oldest waiting archive."],
  archives_total: ["counter", "Archives by outcome: processed, duplicate, failed or left."],
  archives_set_aside_total: [
    "counter",
    "Archives that failed because the process ended three times while it had them.",
  ],
  failed_archives_bytes: ["gauge", "Bytes of the failed archives in the inbox."],
  failed_archives_deleted_total: ["counter", "Failed archives that were deleted from the inbox."],
  results_total: ["counter", "Test results stored."],
  webhook_attempts_total: [
    "counter",
    "Attempts to deliver a message to a webhook, by outcome: delivered, retried or failed.",
  ],
  last_sweep_timestamp_seconds: ["gauge", "End of the last sweep without an error."],
} as const;

type MetricName = keyof typeof DESCRIPTIONS;

/** Labels by name, in a fixed order. Their number of values must be bounded. */
type Labels = Readonly<Record<string, string>>;

const outcomes = (...names: string[]) => names.map((outcome) => ({ outcome }));

/**
 * Counters that start at 0: Prometheus sees no increase when a series begins with its first event. The
 * counters of requests do so by route.
 */
const STARTED: Partial<Record<MetricName, Labels[]>> = {
  archives_total: outcomes("processed", "duplicate", "failed", "left"),
  archives_set_aside_total: [{}],
  failed_archives_deleted_total: [{}],
  log_lines_dropped_total: [{}],
  results_total: [{}],
  throttled_requests_total: [{}],
  upload_bytes_total: [{}],
  webhook_attempts_total: outcomes("delivered", "retried", "failed"),
};

interface Histogram {
  /** Observations by bucket; the last one is unbounded. */
  counts: number[];
  sum: number;
}

/** Counters, gauges and histograms of this process. */
export class Metrics {
  /** Values by name and by labels as they are written. */
  readonly #values = new Map<MetricName, Map<string, number | Histogram>>();

  /** Gauges that are read on each request. */
  readonly #observed = new Map<MetricName, () => number>();

  constructor() {
    for (const [name, series] of Object.entries(STARTED)) {
      for (const labels of series) this.count(name as MetricName, labels, 0);
    }
  }

  /** Adds to a counter. */
  count(name: MetricName, labels: Labels = {}, amount = 1): void {
    const series = this.#series(name);
    const key = written(labels);
    series.set(key, (series.get(key) as number | undefined ?? 0) + amount);
  }

  /** Sets a gauge. */
  set(name: MetricName, value: number): void {
    this.#series(name).set("", value);
  }

  /** Sets a gauge to what `read` returns whenever the metrics are read. */
  observeGauge(name: MetricName, read: () => number): void {
    this.#observed.set(name, read);
  }

  /** Adds an observation to a histogram. */
  observe(name: MetricName, seconds: number, labels: Labels = {}): void {
    const series = this.#series(name);
    const key = written(labels);
    let histogram = series.get(key) as Histogram | undefined;
    if (!histogram) {
      series.set(key, histogram = { counts: Array(BUCKETS.length + 1).fill(0), sum: 0 });
    }
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    histogram.counts[bucket < 0 ? BUCKETS.length : bucket]!++;
    histogram.sum += seconds;
  }

  /** All metrics, including the process's under their usual names. */
  text(): string {
    for (const [name, read] of this.#observed) this.set(name, read());
    const lines: string[] = [];
    for (const [name, series] of this.#values) {
      const [type, help] = DESCRIPTIONS[name];
      lines.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`);
      for (const [labels, value] of series) lines.push(...samples(PREFIX + name, labels, value));
    }
    const { user, system } = process.cpuUsage();
    const processMetrics = [
      ["process_cpu_seconds_total", "counter", (user + system) / 1e6],
      ["process_resident_memory_bytes", "gauge", Deno.memoryUsage().rss],
      ["process_start_time_seconds", "gauge", performance.timeOrigin / 1000],
    ];
    for (const [name, type, value] of processMetrics) {
      lines.push(`# TYPE ${name} ${type}`, `${name} ${value}`);
    }
    return lines.join("\n") + "\n";
  }

  #series(name: MetricName): Map<string, number | Histogram> {
    let series = this.#values.get(name);
    if (!series) this.#values.set(name, series = new Map());
    return series;
  }
}

function samples(name: string, labels: string, value: number | Histogram): string[] {
  if (typeof value === "number") return [`${name}${labels && `{${labels}}`} ${value}`];
  const lines: string[] = [];
  let count = 0;
  for (const [index, inBucket] of value.counts.entries()) {
    count += inBucket;
    const bound = `le="${BUCKETS[index] ?? "+Inf"}"`;
    lines.push(`${name}_bucket{${labels && `${labels},`}${bound}} ${count}`);
  }
  const braces = labels && `{${labels}}`;
  return [...lines, `${name}_sum${braces} ${value.sum}`, `${name}_count${braces} ${count}`];
}

/** Values are written as JSON strings, whose escapes include the format's. */
function written(labels: Labels): string {
  return Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join();
}
