// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** Shared code of all pages. Pages are not part of the API: the route table does not list them. */
import * as v from "valibot";
import { loadOrganizationName } from "../../db/read/organization_name.ts";
import { ownerOfTag } from "../../lib/analysis/test_tags.ts";
import { shortCommit } from "../../lib/base/commit.ts";
import { shellWord } from "../../lib/base/quote.ts";
import { recordedAtOf, type TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import { plural } from "../../lib/base/text.ts";
import {
  breakable,
  emptyState,
  formatTime,
  label,
  nameInParts,
  testName,
  testPlace,
  together,
  verbatim,
} from "../../lib/html/elements.ts";
import {
  buildNameParts,
  forgeOf,
  type NamedBuild,
  pullRequestOf,
  shownBranch,
} from "../../lib/html/forge_links.ts";
import { keptParameters, layout, type Page, PAGE_HEADERS } from "../../lib/html/layout.ts";
import {
  type Content,
  externalLink,
  type Markup,
  markup,
  pathsFrom,
  type PathTo,
  plainAddress,
} from "../../lib/html/markup.ts";
import type { Context } from "../../lib/http/request/context.ts";
import { columnsOf } from "../../lib/http/request/list_format.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import { type Entries, timeZone } from "../../lib/http/request/parameters.ts";
import type {
  ApiRequest,
  Endpoint,
  ListSource,
  QueryOf,
  ReadBatch,
  Resource,
} from "../../lib/http/request/route.ts";

export interface PageRequest<Query = unknown> extends ApiRequest<Query> {
  /** Address for uploads; `""` if unknown. */
  uploadUrl: string;
  pathTo: PathTo;
  /** Formats seconds since 1970; `never` for `null`. */
  at(seconds: number | null): Markup;
  link: ReturnType<typeof linksWith>;
}

/** A list of a page, for `.csv` and `.ndjson` after its path. */
interface PageList<Query> {
  item: v.GenericSchema;
  /** The items that match the parameters of the page, on all of its pages. */
  batches(read: ReadBatch<Query>): AsyncIterable<readonly object[]>;
}

/** The list of a route of the API, for a page that shows the same with the same parameters. */
interface ListOfRoute {
  route: { list?: ListSource };
  /** Values of parameters that the page does not have. */
  more?: object;
}

/** A page, with status 400 if it shows what is wrong with its form; or an address to redirect to. */
type Shown = Page & { isWrong?: boolean } | Markup;

/** Declares a page; `show` may return an address to redirect to instead. */
export function definePage<Query extends Entries>(
  { path, query, show, showErrors, list, listOf, ...page }: {
    path: string;
    resource?: Resource;
    query?: Query;
    hasForms?: boolean;
    list?: PageList<QueryOf<Query>>;
    listOf?: ListOfRoute;
    show(request: PageRequest<QueryOf<Query>>): Promise<Shown> | Shown;
    /** The page for wrong parameters, where their messages are not enough. */
    showErrors?(errors: ParameterErrors, request: Pick<PageRequest, "parameters" | "pathTo">): Page;
  },
): Endpoint {
  const endpoint: Endpoint<QueryOf<Query>> = {
    ...page,
    path,
    access: "token or basic",
    isPage: true,
    query: v.object({ ...query, tz: timeZone }),
    response: { status: 200, mediaType: "text/html; charset=utf-8" },
    async handler(request, context) {
      const page = pageRequest(request, context);
      const shown = await show(page);
      return "content" in shown
        ? {
          body: layout(shown, { ...page, path, isEditor: page.editor !== null }),
          headers: PAGE_HEADERS,
          ...shown.isWrong && { isWrong: true },
        }
        : { body: "", redirect: plainAddress(shown) };
    },
  };
  if (list) {
    endpoint.list = {
      columns: () => columnsOf(list.item),
      batches: list.batches,
    };
  }
  if (listOf) {
    const { route: { list }, more } = listOf;
    endpoint.list = {
      columns: (query) => list!.columns({ ...query, ...more }),
      batches: (read, context) =>
        list!.batches(
          (handle) =>
            read((request) => handle({ ...request, query: { ...request.query, ...more } })),
          context,
        ),
    };
  }
  if (showErrors) {
    endpoint.errorPage = (errors, { parameters, root }) =>
      showErrors(errors, { parameters, pathTo: pathsFrom(root, keptParameters(parameters)) });
  }
  // Sound: the handler only receives what this schema produced.
  return endpoint as Endpoint;
}

function pageRequest<Query>(
  request: ApiRequest<Query>,
  { uploadUrl = "" }: Context,
): PageRequest<Query> {
  const pathTo = pathsFrom(request.root, keptParameters(request.parameters));
  const at = (seconds: number | null) =>
    seconds === null ? markup`never` : formatTime(seconds, request);
  return { ...request, uploadUrl, pathTo, at, link: linksWith(pathTo, at) };
}

/**
 * Links to the whole list at a path, by the parameters of a page, in all of its formats.
 *
 * @param window what the list is of where the page has another range, such as ` of the last 14 days`
 */
export function downloadLinks(
  path: readonly string[],
  { pathTo, parameters }: Pick<PageRequest, "pathTo" | "parameters">,
  window = "",
): Markup {
  const { after: _, limit: _limit, days, ...filters } = parameters;
  const kept = { ...filters, ...days !== undefined && window === "" && { days } };
  const link = (format: string, text: string) =>
    markup`<a href="${
      pathTo([...path.slice(0, -1), `${path.at(-1)}.${format}`], kept)
    }">${text}</a>`;
  return markup`<p class="soft">The whole list${window}: ${link("csv", "CSV")}, ${
    link("ndjson", "newline-delimited JSON")
  }</p>`;
}

function linksWith(pathTo: PathTo, at: PageRequest["at"]) {
  // A browser would take these two as the folder itself and the one above.
  const owner = (who: string, text: Content = who): Markup =>
    who === "." || who === ".."
      ? markup`${text}`
      : markup`<a href="${pathTo(["owners", who])}">${text}</a>`;
  return {
    repositories: markup`<a href="${pathTo(["repos"])}">Repositories</a>`,
    repository(repository: RepositoryName, show = breakable): Markup {
      const address = pathTo(["repos", repository.owner, repository.name]);
      return markup`<a href="${address}">${show(formatRepositoryName(repository))}</a>`;
    },
    builds({ owner, name }: RepositoryName, text = "Builds"): Markup {
      return markup`<a href="${pathTo(["repos", owner, name, "builds"])}">${text}</a>`;
    },
    /** The name of a build, by one of its submissions. */
    namedBuild(
      { owner, name }: RepositoryName,
      build: NamedBuild & { submissionId: string },
    ): Markup {
      const address = pathTo(["repos", owner, name, "builds", build.submissionId]);
      return markup`<a href="${address}">${nameInParts(...buildNameParts(build))}</a>`;
    },
    /** A commit, to the forge where its address is known. */
    commit({ url }: { url: string }, oid: string): Markup {
      return markup`<span class="oid">${
        externalLink(forgeOf(url)?.commit(oid) ?? "", shortCommit(oid))
      }</span>`;
    },
    /** A branch, to the forge, with the pull request that it is of. */
    branch({ url }: { url: string }, branch: string): Markup {
      const forge = forgeOf(url);
      const pull = pullRequestOf(branch);
      if (pull === null) return externalLink(forge?.branch(branch) ?? "", branch);
      return externalLink(forge?.pullRequest(pull) ?? "", shownBranch(branch));
    },
    /** A pull request, to the forge where its address is known. */
    pullRequest({ url }: { url: string }, number: number): Markup {
      return externalLink(forgeOf(url)?.pullRequest(number) ?? "", `#${number}`);
    },
    /** The time of a submission, to its build. */
    build({ owner, name }: RepositoryName, submissionId: string): Markup {
      const address = pathTo(["repos", owner, name, "builds", submissionId]);
      return markup`<a href="${address}">${at(recordedAtOf(submissionId))}</a>`;
    },
    /** The name of a test, without its place. */
    testName(id: string, { name }: TestIdentity): Markup {
      return markup`<a href="${pathTo(["tests", id])}">${testName(name)}</a>`;
    },
    test(id: string, test: TestIdentity): Markup {
      return markup`<a href="${pathTo(["tests", id])}">${testName(test.name)}</a>
<small>${placeOf(test)}</small>`;
    },
    owners: markup`<a href="${pathTo(["owners"])}">Owners</a>`,
    owner,
    /** A tag of a test; an owner's leads to the owner's page. */
    tag(tag: string): Markup {
      const who = ownerOfTag(tag);
      return label(who ? owner(who) : tag);
    },
    inventory(query: Record<string, string>, text: Content): Markup {
      return markup`<a href="${pathTo(["flaky-tests"], query)}">${text}</a>`;
    },
  };
}

/** Links to the first tests of a group, and how many more it has, behind a summary. */
export function someTests(
  testCount: number,
  links: readonly Markup[],
  summary = "Which tests",
): Markup {
  const more = testCount - links.length;
  return markup`<details><summary>${summary}</summary><ul>${
    links.map((link) => markup`<li>${link}</li>`)
  }${more > 0 && markup`<li>and ${plural(more, "more test")}</li>`}</ul></details>`;
}

/** Suite, class and file: they distinguish tests of the same name. */
export function placeOf(test: TestIdentity): Markup {
  return breakable(testPlace(test));
}

/** The address for uploads at the beginning of a command: the configured one, or a variable. */
export function uploadAddress({ uploadUrl }: Pick<PageRequest, "uploadUrl">): string {
  return uploadUrl || "$UPLOAD_URL";
}

/** The name of the caller's organization as a word of a command. */
export async function organizationWord({ load, caller }: PageRequest): Promise<string> {
  const { organizationId } = caller!;
  return shellWord(await load(loadOrganizationName, { organizationId }));
}

/** In place of a list, as long as the organization has no repository. */
export async function nothingUploaded(page: PageRequest): Promise<Markup> {
  return emptyState(
    markup`<p>Nothing has been uploaded yet. A repository appears with its first JUnit report:</p>`,
    await uploadCommand(page),
  );
}

/** The command that uploads a report to a repository, and where its values come from. */
export async function uploadCommand(
  page: PageRequest,
  repository = "OWNER/NAME",
): Promise<Markup> {
  const path = repository.split("/").map(encodeURIComponent).join("/").replaceAll("!", "%21");
  const lines = [
    "curl --retry 5 --fail-with-body",
    '-H "Authorization: Bearer $UPLOAD_TOKEN"',
    "-F report=@reports/junit.xml",
    `"${uploadAddress(page)}/upload/${path}?commit=$(git rev-parse HEAD)"`,
  ];
  const organization = await organizationWord(page);
  const address = !page.uploadUrl &&
    markup`<code>UPLOAD_URL</code> is the address for uploads, which the operator of this service
knows. `;
  return markup`${verbatim(lines.join(" \\\n  "))}
<p>${address}An upload token comes from <code>test-analytics token create --org ${organization}
${together("--upload")}</code> on the server. <a href="${
    page.pathTo(["docs", "guides", "ci"])
  }">In a CI job</a> it
takes a few lines.</p>`;
}
