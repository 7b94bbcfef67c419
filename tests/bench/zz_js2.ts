import { groupA } from "/tmp/variants.ts";
const ids = Array.from(
  { length: 2000 },
  (_, n) => (n * 2654435761 % 4294967296).toString(16).padStart(24, "a"),
);
const all = Array.from(
  { length: 54000 },
  (_, i) => ({
    fingerprint: "f" + Math.floor(Math.random() * 80),
    testId: ids[Math.floor(Math.random() * 2000)]!,
    isDisruption: true,
    branch: "main",
    recordedAt: i,
    position: i,
  }),
);
for (let i = 0; i < 8; i++) {
  const t = performance.now();
  const g = groupA(all);
  const t0 = performance.now();
  for (const one of g.values()) {
    [...one.tests].sort(([a, ac]: any, [b, bc]: any) => bc - ac || (a < b ? -1 : 1)).slice(0, 20);
  }
  const t1 = performance.now();
  for (const one of g.values()) {
    const counts = [...one.tests.values()].sort((a: number, b: number) => b - a);
    const least = counts[19] ?? 0;
    [...one.tests].filter(([, c]: any) => c >= least).sort(([a, ac]: any, [b, bc]: any) =>
      bc - ac || (a < b ? -1 : 1)
    ).slice(0, 20);
  }
  const t2 = performance.now();
  console.log(
    "group",
    (t0 - t).toFixed(1),
    "sort",
    (t1 - t0).toFixed(1),
    "threshold",
    (t2 - t1).toFixed(1),
    g.size,
  );
}
