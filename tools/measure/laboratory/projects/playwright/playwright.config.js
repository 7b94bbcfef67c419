module.exports = {
  testDir: "tests",
  workers: 1,
  retries: 1,
  projects: [{ name: "one" }, { name: "two" }],
  reporter: [["junit", { outputFile: "report.xml", includeRetries: !!process.env.RETRIES }]],
};
