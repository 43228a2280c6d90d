// The two graphs of the model in ONNX Runtime: what the encoder gives for a sentence, and the decoder for beginnings of a translation.

import * as ort from "./ort.js";

ort.env.wasm.numThreads = 1; // more would ask the server for special headers

// How many bytes are there, of how many, and who is told.
export const arriving = {bytes: 0, of: 0, tell: () => {}};

export async function fetched(name, form = "arrayBuffer") {
  const broken = error => { throw new Error(`${name} did not arrive: ${error.message}`); };
  const answer = await fetch(new URL(name, import.meta.url)).catch(broken);
  if (!answer.ok) throw new Error(`${name} is missing beside the page (${answer.status})`);
  const counted = new TransformStream({transform(part, rest) {
    arriving.bytes += part.length;
    arriving.tell();
    rest.enqueue(part);
  }});
  return new Response(answer.body.pipeThrough(counted))[form]().catch(broken);
}

// Weights of one kind for one sentence: `at(layer, head, query, key)`, and how many there are of each.
export class Weights {
  constructor(numbers, sizes, beam = 0) {
    const [layers, , heads, queries, keys] = sizes;
    Object.assign(this, {numbers, sizes, beam, layers, heads, queries, keys});
  }

  at(layer, head, query, key) {
    const [, beams, heads, queries, keys] = this.sizes;
    return this.numbers[(((layer * beams + this.beam) * heads + head) * queries + query) * keys + key];
  }
}

// The runtime reserves addresses for 4 GB, which an older iPhone refuses: it gets 1 GB, more than such a model takes.
function reserveLess() {
  WebAssembly.Memory = class extends WebAssembly.Memory {
    constructor(size) { try { super(size); } catch { super({...size, maximum: Math.min(size.maximum, 16384)}); } } // pages of 64 KiB
  };
}

export class Model {
  static async load() {
    const model = new Model();
    reserveLess();
    const settings = fetched("settings.json", "json").then(found => {
      arriving.of = found.bytes;
      arriving.tell();
      return found;
    });
    const files = [settings, ...["ort.wasm", "encoder.onnx", "decoder.onnx"].map(name => fetched(name))];
    const [, runtime, ...graphs] = await Promise.all(files);
    model.settings = await settings;
    ort.env.wasm.wasmBinary = runtime;
    [model.encoder, model.decoder] = await Promise.all(
      graphs.map(graph => ort.InferenceSession.create(new Uint8Array(graph), {executionProviders: ["wasm"]})));
    return model;
  }

  ids(rows) {
    return new ort.Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0].length]);
  }

  // The number of a head in the input `heads` of the graphs; layer and head from 0.
  headNumber(kind, layer, head) {
    const {kinds, config: {n_layers: layers, n_heads: heads}} = this.settings;
    return (kinds.indexOf(kind) * layers + layer) * heads + head;
  }

  // `switches` in the order of settings.json: 1 is on, 0 is off. `off` has the numbers of the heads that are off.
  async encode(ids, switches, off) {
    const {kinds, config: {n_layers, n_heads}} = this.settings, sizes = [kinds.length, n_layers, n_heads];
    const ones = Float32Array.from({length: kinds.length * n_layers * n_heads}, (_, number) => off.has(number) ? 0 : 1);
    const source = this.ids([ids]), on = new ort.Tensor("float32", Float32Array.from(switches), [switches.length]);
    const heads = new ort.Tensor("float32", ones, sizes);
    const {memory, encoder_attention: weights} = await this.encoder.run({source, switches: on, heads});
    return {source, switches: on, heads, memory, weights: new Weights(weights.data, weights.dims)};
  }

  // What follows each beginning (all of one length): its logits, and the weights of all positions so far.
  async decode({source, switches, heads, memory}, beginnings) {
    const {pad} = this.settings.ids, target = this.ids(beginnings.map(tokens => [pad, ...tokens]));
    const found = await this.decoder.run({target, memory, source, switches, heads});
    const [own, cross, V] = [found.decoder_attention, found.encoder_decoder_attention, found.logits.dims[1]];
    return beginnings.map((_, beam) => ({
      logits: found.logits.data.subarray(beam * V, (beam + 1) * V),
      decoder: new Weights(own.data, own.dims, beam),
      encoder_decoder: new Weights(cross.data, cross.dims, beam),
    }));
  }
}
