// Loads a model with llama.cpp on CUDA and makes sixteen tokens: generate.mjs NODE_MODULES MODEL
// SPDX-License-Identifier: Apache-2.0
import {pathToFileURL} from "node:url";

const [modules, modelPath] = process.argv.slice(2);
const {getLlama} = await import(pathToFileURL(`${modules}/node-llama-cpp/dist/index.js`));

const llama = await getLlama({gpu: "cuda", build: "never", progressLogs: false});
const model = await llama.loadModel({modelPath, gpuLayers: "max"});
const context = await model.createContext({contextSize: 128, sequences: 1});
let count = 0;
for await (const token of context.getSequence().evaluate([1, 100, 101], {yieldEogToken: true})) {
  if (token === undefined || ++count === 16) break;
}
const device = await llama.getVramState();
console.log(`gpu ${llama.gpu}, ${model.gpuLayers} layers, ${count} tokens`);
console.log(`model ${model.size} bytes, device ${device.total} bytes`);
await context.dispose();
await model.dispose();
await llama.dispose();
