import assert from "node:assert/strict";
import { before, describe, it } from "@std/testing/bdd";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { parse } from "yaml";
import {
  describedParameters,
  documentedRoutes as routes,
  pathTemplate,
  TAGS,
} from "../../tools/documentation/description.ts";
import { openapiDocument, openapiYaml } from "../../tools/documentation/openapi.ts";
import { VERSION } from "../../lib/base/version.ts";
import { describeWithDatabase } from "../database.ts";
import { Contract } from "./contract.ts";
import { createFixture, type Fixture, request } from "./fixture.ts";

const yaml = openapiYaml(openapiDocument(routes));

describe("the OpenAPI document", () => {
  const { operations } = new Contract();

  it("passes a strict validator without a warning, examples included", async () => {
    const config = await createConfig({
      extends: ["recommended-strict"],
      rules: {
        "no-invalid-parameter-examples": "error",
        "no-invalid-schema-examples": "error",
        "operation-tag-defined": "error",
      },
    });
    const problems = await lintFromString({ source: yaml, config });
    assert.deepEqual(
      problems.map(({ ruleId, message, location: [place] }) =>
        `${ruleId}: ${message} (${place?.pointer})`
      ),
      [],
    );
  });

  it("fails that validator when something is missing", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] });
    const source = yaml.replace("operationId: checkToken", "x-operation: checkToken")
      .replace("disruptiveness: 0.054", "disruptiveness: none");
    const problems = await lintFromString({ source, config });
    assert.deepEqual(problems.map(({ ruleId }) => ruleId).sort(), [
      "no-invalid-media-type-examples",
      "operation-operationId",
    ]);
  });

  it("has every route, under a unique name", () => {
    assert.deepEqual(
      operations.map(({ path, operationId }) => [path, operationId]),
      routes.map(({ path, operationId }) => [pathTemplate(path), operationId]),
    );
    assert.equal(new Set(routes.map(({ operationId }) => operationId)).size, routes.length);
  });

  it("has an example of every parameter and of every body", () => {
    for (const route of routes) {
      for (const { name, example } of describedParameters(route)) {
        assert.ok(example, `${name} of ${route.path} has an example`);
      }
      const { mediaType, example } = route.response;
      assert.equal(example !== undefined, mediaType !== undefined, route.path);
    }
  });

  it("describes each response with one media type, so that no generated client has a union", () => {
    for (const { path, responses } of operations) {
      for (const [status, { content }] of Object.entries(responses)) {
        assert.ok(Object.keys(content ?? {}).length <= 1, `${status} of ${path}`);
      }
    }
    const lists = routes.filter(({ list }) => list);
    assert.ok(lists.length > 10);
    const described =
      yaml.replace(/\s+/g, " ").split("As a file: text/csv or application/x-ndjson").length - 1;
    assert.equal(described, lists.length);
  });

  it("uses every group that it describes", () => {
    const used = new Set(routes.map(({ tag }) => tag));
    assert.deepEqual([...used].sort(), Object.keys(TAGS).sort());
  });

  it("reads the same as YAML 1.1 and 1.2", () => {
    assert.deepEqual(parse(yaml, { version: "1.1" }), parse(yaml));
    assert.equal(parse(yaml).info.version, VERSION);
  });

  it("describes authentication, and has a relative server address", () => {
    const { servers, security, components, paths } = parse(yaml);
    assert.equal(
      new URL(servers[0].url, "https://example.org/prefix/openapi.yaml").href,
      "https://example.org/prefix/",
    );
    assert.deepEqual(security, [{ bearer: [] }, { token: [] }]);
    assert.deepEqual(Object.keys(components.securitySchemes), [
      "bearer",
      "token",
      "basic",
      "badge",
    ]);
    assert.deepEqual(paths["/health"].get.security, []);
    assert.equal(paths["/openapi.yaml"].get.security.length, 3);
    assert.equal(paths["/api"].get.security, undefined);
    assert.deepEqual(paths["/api/v1/flaky/badges"].get.security.at(-1), { badge: [] });
  });
});

describeWithDatabase("GET /openapi.yaml", (database) => {
  let fixture: Fixture;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  it("returns the document to callers with a token, in a header or as a password", async () => {
    const basic = `Basic ${btoa(`me:${fixture.token}`)}`;
    for (const authorization of [`token ${fixture.token}`, `Bearer ${fixture.token}`, basic]) {
      const response = await fixture.app(request("/openapi.yaml", { authorization }));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), "application/yaml; charset=utf-8");
      assert.equal(await response.text(), yaml);
    }
    assert.equal((await fixture.app(request("/openapi.yaml"))).status, 401);
  });

  it("returns 304 for a current entity tag", async () => {
    const etag = (await fixture.get("/openapi.yaml")).headers.get("etag")!;
    const response = await fixture.get("/openapi.yaml", { "if-none-match": etag });
    assert.equal(response.status, 304);
  });
});
