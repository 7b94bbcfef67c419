import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: ["one", "two"].map((name) => ({
      test: { name, env: { PROJECT: name }, include: ["src/total.test.js"] },
    })),
  },
});
