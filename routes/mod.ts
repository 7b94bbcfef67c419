/** The route table, from which the router, OpenAPI and the documentation are generated. */
import { type App, createDispatcher } from "../lib/http/request/dispatch.ts";
import type { Context } from "../lib/http/request/context.ts";
import type { Route } from "../lib/http/request/route.ts";
import { coverageBadgeRoute, flakyBadge } from "./badges.ts";
import { disruptiveTests } from "./disruptive_tests.ts";
import { docs, llms, openapi } from "./documentation.ts";
import { flakyTests } from "./flaky_tests.ts";
import { repositoryFailures, testFailures } from "./failures.ts";
import { health } from "./health.ts";
import { organizations } from "./organizations.ts";
import { pages } from "./pages/mod.ts";
import { repositories } from "./repositories.ts";
import { submissionTests } from "./submission_tests.ts";
import { submissions } from "./submissions.ts";
import { testDetails } from "./test_details.ts";
import { testRuns } from "./test_runs.ts";
import { testResults } from "./test_results.ts";
import { tokenCheck } from "./token_check.ts";
import { verdicts } from "./verdicts.ts";

/** All routes, in the order of the documentation. */
export const routes: readonly Route[] = [
  health,
  tokenCheck,
  organizations,
  repositories,
  submissions,
  submissionTests,
  disruptiveTests,
  repositoryFailures,
  verdicts,
  testDetails,
  testResults,
  testRuns,
  testFailures,
  flakyTests,
  flakyBadge,
  coverageBadgeRoute,
  openapi(() => routes),
  docs(() => routes),
  llms(() => routes),
];

/** Creates the app that serves this API and the pages. */
export function createApp(context: Context): App {
  return createDispatcher([...routes, ...pages], context);
}
