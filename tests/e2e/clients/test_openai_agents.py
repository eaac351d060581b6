"""A loop of two tools with OpenAI's Agents SDK, over each of the ways that it has to a server."""

import asyncio
from typing import Any

import openai
import pytest

from prompts import MODEL
from script_model import ANSWER
from weft_server import WeftServer

agents = pytest.importorskip("agents")

WAYS: dict[str, dict[str, Any]] = {
    "chat completions": {"use_responses": False},
    "responses": {"use_responses": True},
    "the websocket": {"use_responses": True, "use_responses_websocket": True}}


def client_of(server: WeftServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="none", base_url=server.url + "/v1", max_retries=0,
                              websocket_base_url=f"ws://127.0.0.1:{server.port}/v1")


def agent_with(called: list[tuple[Any, ...]]) -> Any:
    @agents.function_tool(strict_mode=False)  # the model follows its script, and no grammar
    def get_weather(city: str, days: int) -> str:
        """Says the weather."""
        called.append((city, days))
        return "sunny"

    @agents.function_tool(strict_mode=False)  # the model follows its script, and no grammar
    def get_time(zone: str) -> str:
        """Says the time."""
        called.append((zone,))
        return "noon"

    return agents.Agent(name="Helper", instructions="Use the tools.", tools=[get_weather, get_time], model=MODEL)


async def run(agent: Any, config: Any) -> Any:
    return await agents.Runner.run(agent, "What is the weather?", run_config=config)


async def stream(agent: Any, config: Any) -> Any:
    result = agents.Runner.run_streamed(agent, "What is the weather?", run_config=config)
    async for _ in result.stream_events():
        pass
    return result


@pytest.mark.parametrize("go", [run, stream])
@pytest.mark.parametrize("way", WAYS)
def test_an_agent_calls_its_tools_and_answers(script_server: WeftServer, way: str, go: Any) -> None:
    called: list[tuple[Any, ...]] = []

    async def ask() -> Any:
        async with client_of(script_server) as client:
            provider = agents.OpenAIProvider(openai_client=client, **WAYS[way])
            done = await go(agent_with(called), agents.RunConfig(model_provider=provider, tracing_disabled=True))
            await provider.aclose()
            return done

    result = asyncio.run(ask())
    assert result.final_output == ANSWER
    assert sorted(called, key=str) == [("CET",), ("Zürich", 2)]
    assert len(result.raw_responses) == 2
