import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import * as v from "valibot";
import { NamedSchemas } from "../../../../lib/http/openapi/schemas.ts";

const point = v.pipe(v.strictObject({ x: v.number() }), v.title("Point"));
const POINT = { $ref: "#/components/schemas/Point" };

describe("named schemas", () => {
  it("contain a schema with a title once, and references to it", () => {
    const named = new NamedSchemas();
    assert.deepEqual(named.schemaOf(v.array(point)), { type: "array", items: POINT });
    assert.deepEqual(
      named.schemaOf(v.pipe(v.strictObject({ from: point, to: point }), v.title("Line"))),
      { $ref: "#/components/schemas/Line" },
    );
    assert.deepEqual(named.schemas, {
      Point: {
        type: "object",
        properties: { x: { type: "number" } },
        required: ["x"],
        additionalProperties: false,
      },
      Line: {
        type: "object",
        properties: { from: POINT, to: POINT },
        required: ["from", "to"],
        additionalProperties: false,
      },
    });
  });

  it("keep descriptions at the references", () => {
    const named = new NamedSchemas();
    assert.deepEqual(named.schemaOf(v.pipe(point, v.description("Here"))), {
      ...POINT,
      description: "Here",
    });
    assert.deepEqual(named.schemaOf(v.pipe(v.nullable(point), v.description("There"))), {
      anyOf: [POINT, { type: "null" }],
      description: "There",
    });
    assert.equal("description" in named.schemas.Point!, false);
  });

  it("reject two different schemas with the same title", () => {
    const named = new NamedSchemas();
    named.schemaOf(point);
    const other = v.pipe(v.strictObject({ y: v.number() }), v.title("Point"));
    assert.throws(() => named.schemaOf(other), /two different schemas have the title Point/);
  });

  it("accept a property named title", () => {
    const named = new NamedSchemas();
    assert.deepEqual(named.schemaOf(v.object({ title: v.string() })), {
      type: "object",
      properties: { title: { type: "string" } },
      required: ["title"],
    });
    assert.deepEqual(named.schemas, {});
  });

  it("put null into the type", () => {
    const named = new NamedSchemas();
    assert.deepEqual(named.schemaOf(v.nullable(v.string())), { type: ["string", "null"] });
    assert.deepEqual(named.schemaOf(v.nullable(v.picklist(["a", "b"]))), {
      type: ["string", "null"],
      enum: ["a", "b", null],
    });
    assert.deepEqual(named.schemaOf(v.literal("ok")), { type: "string", const: "ok" });
    assert.deepEqual(named.schemaOf(v.union([v.string(), v.number()])), {
      anyOf: [{ type: "string" }, { type: "number" }],
    });
  });
});
