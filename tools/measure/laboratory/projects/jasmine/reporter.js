const { JUnitXmlReporter } = require("jasmine-reporters");

const environment = jasmine.getEnv();
// Suites in several files may have one name, as in versions before 7.
environment.configure({ forbidDuplicateNames: false });
environment.addReporter(
  new JUnitXmlReporter({ savePath: ".", filePrefix: "report", consolidateAll: true }),
);
