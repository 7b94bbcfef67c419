import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

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
});
