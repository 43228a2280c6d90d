// The page in Chinese: for ?language=zh, or where that is the browser's first language. A link leads to the other language.

import {speak} from "./drawing.js";

const CHINESE = {
  "Translate and watch: a Transformer in the page": "看着它翻译：网页里的 Transformer",
  "Translate and watch": "看着它翻译",
  "A Transformer of": "这是 ",
  ", small enough to run in this page:": " 的 Transformer，小到能在网页里运行：",
  "a model": "一个模型",
  ". What you type stays on this machine.": "。你输入的内容不会离开这台机器。 ",
  "Sentence": "要翻译的句子",
  "Translate": "翻译",
  "search": "搜索 ",
  "beam of {}": "束搜索，束宽 {}",
  "greedy": "贪心搜索",
  "Switch a part off and see what breaks": "关掉一个部件，看会出什么问题",
  "scaling by √d": " 缩放：除以 √d",
  "causal mask": " 因果掩码",
  "positions": " 位置",
  "loading": "正在加载",
  "sentence": "第几句 ",
  "pieces (a dot · joins one to the piece before)": "片段（带 · 的与前一个片段连成一个词）",
  "pieces of the sentence": "句子的片段",
  "translation": "译文",
  "tokens of the translation": "译文的词元",
  "Point at a token to see its weights; click to freeze it, click again or press Escape to let go.":
    "指向一个词元，就看到它的权重；点一下固定，再点一下或按 Esc 键放开。",
  "the step that wrote the token": "写出这个词元的一步",
  "What could stand here": "这里还可能是什么",
  "Probabilities of token": "词元 ",
  ". Click one to force it.": "：概率如下。点一个，就强制写出它。",
  "Let the model choose again": "让模型重新选",
  "Beams after this step": "这一步之后的束",
  "log p": "对数概率",
  "beginning": "译文的开头",
  "attention": "注意力 ",
  "Attention": "注意力",
  "encoder-decoder": "编码器-解码器",
  "encoder": "编码器",
  "decoder": "解码器",
  "layer": "层 ",
  "head": "头 ",
  "switch this head off": " 关掉这个头",
  "several heads": " 几个头",
  "whole words": " 整词",
  "All on": "全部打开",
  "All heads": "所有的头",
  "all heads": "所有的头",
  "A row for each layer, a column for each head; queries stand in rows, keys in columns. Click one, or go there by arrow keys, to see it above; with":
    "每层一行，每个头一列；图中行是查询，列是键。点一个，或用方向键移到它，上面就显示它。勾选",
  ", or Ctrl held down, a click adds it or takes it away, and a double click shows it alone.":
    "，或者按住 Ctrl 键时，点一下就加上或去掉一个头，双击就只显示这一个。",
  "Computed by ONNX Runtime Web (MIT licence, © Microsoft Corporation) in one thread; matrices in 8 bits. No other host is asked.":
    "由 ONNX Runtime Web（MIT 许可，© Microsoft Corporation）用一个线程计算；矩阵是 8 位的。不访问别的主机。",
  "Licences": "许可证",
  ", of the weights too. Part of": "（权重的许可证也在其中）。出自 ",
  // What the scripts say.
  "source": "源端",
  "target, read": "读到的词（目标端）",
  "target, written": "写出的词（目标端）",
  "layer {}, head {}": "第 {} 层，头 {}",
  "{}, {}": "{}，{}",
  "{} looks at {}: {}": "{} 看 {}：{}",
  " in {}": "（{}）",
  ";": "；",
  "; ": "；",
  ", ": "、",
  "nothing": "没有",
  "{} at {}": "{}看 {}",
  "{} by {}": "{}：{}",
  "“{}” looks{}.": "“{}”{}。",
  "“{}” is looked at{}.": "看“{}”的词{}。",
  "“{}” looks at “{}” with the weight{}.": "“{}”看“{}”，权重：{}。",
  "The text has {} characters, and this page takes {}: shorten it.": "文字有 {} 个字符，网页最多接受 {} 个：请缩短。",
  "The field holds no words: type a sentence.": "还没有文字：请输入一个句子。",
  "The sentence has {} tokens, and this page takes {}: shorten it.": "句子有 {} 个词元，网页最多接受 {} 个：请缩短。",
  "Press Enter, or Translate.": "按回车键，或点“翻译”。",
  "This could not be computed ({}): reload the page.": "没能算出来（{}）：请重新加载网页。",
  "Translating …": "正在翻译……",
  "{} tokens": "{} 个词元",
  "log-probability {}": "对数概率 {}",
  "{} s": "{} 秒",
  "without {}": "关掉了：{}",
  "scaling": "缩放",
  "causal": "因果掩码",
  "The model is unsure of this translation: do not rely on it.": "模型对这个译文没有把握：不要依赖它。",
  "⁇ stands for letters that the model has never seen.": "⁇ 代表模型从没见过的字符。",
  "forced": "强制写出",
  "{} of {}": "{}/{}",
  ", the least sure": "（最没有把握的一个）",
  "Off: {}.": "已关掉：{}。",
  " The picture shows the weights that this head would have.": "图中是这个头打开时的权重。",
  "Loading the model …": "正在加载模型……",
  "The model could not be loaded ({}): reload the page, try another browser, or write the page again.":
    "模型没能加载（{}）：请重新加载网页，换一个浏览器，或重新生成网页。",
};

// Each text of the page whose English the table has; the space around it is the table's, too.
function translateThePage() {
  const said = text => CHINESE[text.replace(/\s+/g, " ").trim()];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = said(texts.currentNode.data) ?? texts.currentNode.data;
  for (const one of document.querySelectorAll("[aria-label]")) {
    const label = one.getAttribute("aria-label");
    one.setAttribute("aria-label", said(label)?.trim() ?? label);
  }
  document.title = said(document.title);
  document.documentElement.lang = "zh";
  Object.assign(document.getElementById("language"), {textContent: "English", href: "?language=en", hreflang: "en", lang: "en"});
}

if ((new URLSearchParams(location.search).get("language") ?? navigator.language ?? "").startsWith("zh")) {
  speak(CHINESE);
  translateThePage();
}
