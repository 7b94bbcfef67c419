// Tests: tests/routes/search_page_test.ts
/** `/search`: leads to the commit, pull request, repository or test that the field of the head names. */
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { type FoundBuild, searchBuilds } from "../../db/read/search_builds.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { table } from "../../lib/html/elements.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { foldCase } from "../../lib/query/parse.ts";
import { definePage, type PageRequest } from "./page.ts";

/** As far back as a list of builds goes. */
const SEARCHED_DAYS = 90;
const MAX_SHOWN = 20;

const query = {
  q: parameters.text(
    "A commit or its beginning (at least 7 digits), a pull request as #77, a repository, or words of a test",
    { jsonSchema: { type: "string" }, example: "24d0c8b" },
  ),
};

export const searchPage = definePage({
  path: "/search",
  resource: "repositories in query",
  query,
  async show(page) {
    const { load, pathTo, query: { q = "" } } = page;
    const text = q.trim();
    if (text === "") return pathTo(["repos"]);
    const details = await load(loadRepositoryDetails, {});
    const builds = await findBuilds(text, page);
    const repositories = findRepositories(text, details);
    const [build, repository] = [builds[0], repositories[0]];
    const found = builds.length + repositories.length;
    if (found === 0) return pathTo(["tests"], { q: text });
    // A test may have the word that the name of a repository only contains.
    if (found === 1 && (build || isNamed(repository!, text))) {
      const { owner, name } = repository ??
        details.find(({ repositoryId }) => repositoryId === build!.repositoryId)!;
      return pathTo(["repos", owner, name, ...build ? ["builds", build.submissionId] : []]);
    }
    return {
      title: "Search",
      content: markup`<h1>Search</h1>
${buildTable(builds, details, page)}
${
        repositories.length > 0 && markup`<h2>Repositories</h2>
<ul>${repositories.map((one) => markup`<li>${page.link.repository(one)}</li>`)}</ul>`
      }
<p><a href="${pathTo(["tests"], { q: text })}">Tests with these words</a></p>`,
    };
  },
});

/** Builds of a commit or a pull request; none if the text names neither. */
async function findBuilds(text: string, { load, now }: PageRequest): Promise<FoundBuild[]> {
  const [, number] = /^[#!](\d{1,9})$/.exec(text) ?? [];
  const [commit = null] = /^[0-9a-f]{7,64}$/.exec(text.toLowerCase()) ?? [];
  if (number === undefined && commit === null) return [];
  return await load(searchBuilds, {
    since: now - SEARCHED_DAYS * SECONDS_PER_DAY,
    commit,
    pullNumber: number === undefined ? null : Number(number),
    limit: MAX_SHOWN,
  });
}

/** Whether a text is the name of a repository, with or without its owner. */
function isNamed(repository: RepositoryDetails, text: string): boolean {
  const wanted = foldCase(text);
  return [formatRepositoryName(repository), repository.name]
    .some((name) => foldCase(name) === wanted);
}

/** Repositories of this name; without one, those that contain it. */
function findRepositories(text: string, details: readonly RepositoryDetails[]) {
  const named = details.filter((one) => isNamed(one, text));
  if (named.length > 0) return named;
  const wanted = foldCase(text);
  return details.filter((one) => foldCase(formatRepositoryName(one)).includes(wanted))
    .slice(0, MAX_SHOWN);
}

function buildTable(
  builds: readonly FoundBuild[],
  details: readonly RepositoryDetails[],
  { link, at }: PageRequest,
): Markup | false {
  if (builds.length === 0) return false;
  const repositories = new Map(details.map((one) => [one.repositoryId, one]));
  const rows = builds.map((build) => {
    const repository = repositories.get(build.repositoryId)!;
    return [
      link.namedBuild(repository, build),
      link.repository(repository),
      at(build.recordedAt),
    ];
  });
  return markup`<h2>Builds</h2>
${table("Builds", ["Build|name", "Repository", "When|nowrap"], rows, "dense")}`;
}
