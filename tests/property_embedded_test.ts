import { describeWithEmbedded } from "./database.ts";
import { itAgreesWithTheDefinitions } from "./random_histories.ts";

describeWithEmbedded("random histories", itAgreesWithTheDefinitions);
