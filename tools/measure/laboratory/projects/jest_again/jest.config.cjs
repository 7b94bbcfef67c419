module.exports = {
  testEnvironment: "node",
  reporters: [["jest-junit", { outputFile: "report.xml" }]],
};
