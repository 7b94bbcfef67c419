process.env.CHROME_BIN ??= "/usr/bin/chromium";

module.exports = (config) =>
  config.set({
    frameworks: ["jasmine"],
    files: ["test/*.js"],
    browsers: ["Headless"],
    customLaunchers: { Headless: { base: "ChromeHeadless", flags: ["--no-sandbox"] } },
    reporters: ["junit"],
    junitReporter: { outputDir: ".", outputFile: "report.xml", useBrowserName: false },
    singleRun: true,
    client: { jasmine: { random: false } },
  });
