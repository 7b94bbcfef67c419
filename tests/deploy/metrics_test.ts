import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

const hasPromtool = await new Deno.Command("sh", { args: ["-c", "command -v promtool"] }).output()
  .then(({ success }) => success);

describe("alerts and dashboard", () => {
  it("use metrics that exist", async () => {
    const source = await read("lib/base/metrics.ts");
    for (const file of ["deploy/alerts.yaml", "deploy/grafana.json"]) {
      const names = [...(await read(file)).matchAll(/test_analytics_(\w+)|\b(process_\w+)/g)];
      assert.ok(names.length >= 6, file);
      for (const [, own, process] of names) {
        const name = own?.replace(/_(bucket|sum|count)$/, "") ?? process!;
        assert.match(source, new RegExp(`\\b${name}\\b`), `${file}: ${name}`);
      }
    }
  });

  it("fire when they should, by Prometheus's own tool", { skip: !hasPromtool }, async () => {
    const folder = await Deno.makeTempDir({ prefix: "test-analytics-alerts-" });
    try {
      const rules = new URL("../../deploy/alerts.yaml", import.meta.url).pathname;
      await Deno.writeTextFile(`${folder}/tests.json`, JSON.stringify(ruleTests(rules)));
      const { success, stdout, stderr } = await new Deno.Command("promtool", {
        args: ["test", "rules", `${folder}/tests.json`],
      }).output();
      const decoder = new TextDecoder();
      assert.ok(success, decoder.decode(stdout) + decoder.decode(stderr));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
});

/** Unit tests of the rules: values of each minute, and the alerts that fire after an hour. */
function ruleTests(rules: string) {
  const job = 'job="test-analytics"';
  const quiet = {
    [`up{${job}}`]: "1x90",
    [`process_start_time_seconds{${job}}`]: "1x90",
    [`test_analytics_last_sweep_timestamp_seconds{${job}}`]: "0+60x90",
    [`test_analytics_archives_oldest_seconds{${job}}`]: "0x90",
    [`test_analytics_archives_total{outcome="failed",${job}}`]: "0x90",
    [`test_analytics_archives_set_aside_total{${job}}`]: "0x90",
    [`test_analytics_webhook_attempts_total{outcome="retried",${job}}`]: "0x90",
    [`test_analytics_webhook_attempts_total{outcome="delivered",${job}}`]: "0+1x90",
    [`test_analytics_http_requests_total{route="/api",status="200",${job}}`]: "0+600x90",
    [`test_analytics_http_requests_total{route="/api",status="500",${job}}`]: "0x90",
    [`test_analytics_tokens_expiring{${job}}`]: "0x90",
    [`test_analytics_disk_free_bytes{${job}}`]: "9000x90",
    [`test_analytics_disk_needed_bytes{${job}}`]: "1000x90",
  };
  const cases: [alert: string | null, series: Record<string, string>][] = [
    [null, {}],
    ["Down", { [`up{${job}}`]: "0x90" }],
    ["Errors", {
      [`test_analytics_http_requests_total{route="/api",status="500",${job}}`]: "0+60x90",
    }],
    ["ArchivesFail", { [`test_analytics_archives_total{outcome="failed",${job}}`]: "0x40 1x50" }],
    // Of an earlier version, whose counters do not start at 0.
    ["ArchivesFail", { [`test_analytics_archives_total{outcome="failed",${job}}`]: "_x40 1x50" }],
    ["ArchiveSetAside", { [`test_analytics_archives_set_aside_total{${job}}`]: "0x40 1x50" }],
    ["UploadsRefused", {
      [`test_analytics_http_requests_total{route="/upload",status="503",${job}}`]: "0+60x90",
      [`test_analytics_disk_free_bytes{${job}}`]: "500x90",
    }],
    ["UploadsRefused", { [`test_analytics_disk_free_bytes{${job}}`]: "500x90" }],
    ["WebhooksFail", {
      [`test_analytics_webhook_attempts_total{outcome="retried",${job}}`]: "0+2x90",
    }],
    ["Restarts", { [`process_start_time_seconds{${job}}`]: "1x20 2x10 3x10 4x10 5x40" }],
    ["WatchStuck", { [`test_analytics_last_sweep_timestamp_seconds{${job}}`]: "0x90" }],
    ["TokensExpire", { [`test_analytics_tokens_expiring{${job}}`]: "1x90" }],
    ["Backlog", { [`test_analytics_archives_oldest_seconds{${job}}`]: "1000x90" }],
  ];
  return {
    rule_files: [rules],
    evaluation_interval: "1m",
    tests: cases.map(([alert, changed]) => ({
      name: alert ?? "nothing",
      interval: "1m",
      input_series: Object.entries({ ...quiet, ...changed })
        .map(([series, values]) => ({ series, values })),
      promql_expr_test: [{
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: "60m",
        exp_samples: alert === null
          ? []
          : [{ labels: `{alertname="TestAnalytics${alert}"}`, value: 1 }],
      }],
    })),
  };
}
