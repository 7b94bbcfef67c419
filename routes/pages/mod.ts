import type { Endpoint } from "../../lib/http/request/route.ts";
import { buildPage } from "./build.ts";
import { flakyTestsPage } from "./flaky_tests.ts";
import { homePage, repositoriesPage, repositoryByNamePage } from "./repositories.ts";
import { repositoryPage } from "./repository.ts";
import { testPage } from "./test.ts";

/** The pages for people with a browser. */
export const pages: readonly Endpoint[] = [
  homePage,
  repositoriesPage,
  repositoryByNamePage,
  repositoryPage,
  flakyTestsPage,
  testPage,
  buildPage,
];
