DOCUMENTATION = """
name: beside
short_description: linear, with a word
description: x
author: nobody
"""
from ansible.plugins.strategy.linear import StrategyModule as Linear
from ansible.utils.display import Display


class StrategyModule(Linear):
    def run(self, iterator, play_context):
        Display().display("strategy beside")
        return super().run(iterator, play_context)
