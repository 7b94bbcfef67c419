import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { Metrics } from "../../../lib/base/metrics.ts";

describe("metrics", () => {
  it("are written in the text format of Prometheus", () => {
    const metrics = new Metrics();
    metrics.count("http_requests_total", { route: '/a"\\', status: "200" });
    metrics.count("http_requests_total", { route: '/a"\\', status: "200" }, 2);
    metrics.set("archives_waiting", 3);
    metrics.set("archives_waiting", 2);
    for (const seconds of [0.0005, 0.005, 60]) metrics.observe("database_wait_seconds", seconds);
    const lines = metrics.text().split("\n");
    const start = lines.indexOf(
      "# HELP test_analytics_http_requests_total Requests by route and status.",
    );
    assert.deepEqual(lines.slice(start, start + 6), [
      "# HELP test_analytics_http_requests_total Requests by route and status.",
      "# TYPE test_analytics_http_requests_total counter",
      'test_analytics_http_requests_total{route="/a\\"\\\\",status="200"} 3',
      "# HELP test_analytics_archives_waiting Archives found by the running sweep and not processed yet.",
      "# TYPE test_analytics_archives_waiting gauge",
      "test_analytics_archives_waiting 2",
    ]);
    const histogram = lines.filter((line) => line.startsWith("test_analytics_database_wait"));
    assert.equal(histogram[0], 'test_analytics_database_wait_seconds_bucket{le="0.001"} 1');
    assert.equal(histogram[1], 'test_analytics_database_wait_seconds_bucket{le="0.005"} 2');
    assert.deepEqual(histogram.slice(-4), [
      'test_analytics_database_wait_seconds_bucket{le="10"} 2',
      'test_analytics_database_wait_seconds_bucket{le="+Inf"} 3',
      "test_analytics_database_wait_seconds_sum 60.0055",
      "test_analytics_database_wait_seconds_count 3",
    ]);
    const failed = lines.find((line) => line.includes('archives_total{outcome="failed"}'));
    assert.equal(failed, 'test_analytics_archives_total{outcome="failed"} 0', "it starts at 0");
    assert.match(lines.at(-2)!, /^process_start_time_seconds \d/);
    assert.ok(lines.some((line) => /^process_resident_memory_bytes \d{7}/.test(line)));
  });
});
